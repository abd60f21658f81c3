// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/cloud/internal/metadata_dialect.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/cloud/internal/json_member.h"
#include "crochet/cloud/internal/parse_utc.h"

namespace crochet::inline v0::cloud::internal {
namespace {

// 30 seconds from the notice, whose time is unknown: the answer may have been late.
constexpr double kGceGraceSecs = 25;
// The server answers after this time even if nothing has changed.
constexpr double kGceWaitSecs = 60;
constexpr double kAwsTokenSecs = 21600;  // The most that there is.
constexpr double kAwsPauseSecs = 5;      // As Amazon recommends.
// Azure may need two minutes for its first answer.
constexpr double kAzureTimeoutSecs = 130;
// Longer values of a header are not the server's.
constexpr size_t kMaxValueBytes = 1024;

constexpr const char* kGce = "GCE's metadata server";
constexpr const char* kAws = "AWS's metadata server";
constexpr const char* kAzure = "Azure's metadata server";

// The beginning of what an untrusted server said.
std::string found_text(const HttpResponse& response) {
  constexpr size_t kMax = 80;
  return fmt::format("status {} and \"{}\"", response.status, response.body.substr(0, kMax));
}

[[noreturn]] void throw_wrong(const char* server, const HttpResponse& response,
                              const char* expected) {
  throw DataLossError(
      fmt::format("{} answered with {}, expected {}", server, found_text(response), expected));
}

// For a status other than that of an answer.
[[noreturn]] void throw_status(const char* server, const HttpResponse& response) {
  if (response.status == 429 || response.status >= 500)
    throw UnavailableError(fmt::format("{} cannot answer now: {}", server, found_text(response)));
  throw_wrong(server, response, "status 200");
}

// True for what may be the value of a header, or a part of a path.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= kMaxValueBytes && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < '\x7f' && c != '&' && c != '#' && c != '%';
  });
}

using Json = nlohmann::json;

}  // namespace

HttpRequest GceDialect::next_request(double) {
  std::string path = "/computeMetadata/v1/instance/preempted";
  if (!etag_.empty())
    path += fmt::format("?wait_for_change=true&timeout_sec={}&last_etag={}", kGceWaitSecs, etag_);
  return {.path = std::move(path),
          .headers = {"Metadata-Flavor: Google"},
          .timeout_secs = etag_.empty() ? 5 : kGceWaitSecs + 10};
}

std::optional<PreemptionNotice> GceDialect::read(const HttpResponse& response, double now) {
  etag_.clear();
  if (response.status != 200) throw_status(kGce, response);
  if (response.body == "TRUE")
    return PreemptionNotice{"Google Compute Engine preempts this machine", now + kGceGraceSecs};
  if (response.body != "FALSE") throw_wrong(kGce, response, "TRUE or FALSE");
  if (is_plain(response.etag)) etag_ = response.etag;
  return std::nullopt;
}

HttpRequest AwsDialect::next_request(double now) {
  // Renewed early, so that no question fails.
  if (now > token_ends_ - kAwsTokenSecs / 2) token_.clear();
  if (token_.empty()) {
    asked_ = Question::kToken;
    return {.method = HttpMethod::kPut,
            .path = "/latest/api/token",
            .headers = {fmt::format("X-aws-ec2-metadata-token-ttl-seconds: {}", kAwsTokenSecs)}};
  }
  asked_ = next_;
  return {.path = asked_ == Question::kAction
                      ? "/latest/meta-data/spot/instance-action"
                      : "/latest/meta-data/events/recommendations/rebalance",
          .headers = {"X-aws-ec2-metadata-token: " + token_}};
}

void AwsDialect::read_token(const HttpResponse& response, double now) {
  if (response.status != 200) throw_status(kAws, response);
  if (!is_plain(response.body)) throw_wrong(kAws, response, "a token");
  token_ = response.body;
  is_token_new_ = true;
  next_ = Question::kAction;
  token_ends_ = now + kAwsTokenSecs;
}

std::optional<PreemptionNotice> AwsDialect::read(const HttpResponse& response, double now) {
  pause_secs_ = 0;
  if (asked_ == Question::kToken) {
    read_token(response, now);
    return std::nullopt;
  }
  const bool is_action = asked_ == Question::kAction;
  if (response.status == 401) {  // The token is not valid any more: another one is asked for.
    token_.clear();
    if (is_token_new_) throw_wrong(kAws, response, "that it accepts its own token");
    return std::nullopt;
  }
  is_token_new_ = false;
  next_ = is_action ? Question::kRebalance : Question::kAction;
  if (!is_action) pause_secs_ = kAwsPauseSecs;
  if (response.status == 404) return std::nullopt;
  if (response.status != 200) throw_status(kAws, response);
  crochet::internal::JsonTree tree;
  crochet::internal::parse_json(response.body, kAws, tree);
  if (is_action) {
    const auto time = parse_utc(text_in(tree.root, "time"));
    if (!time) throw_wrong(kAws, response, "an action with a time");
    return PreemptionNotice{"Amazon EC2 takes this machine back", time};
  }
  std::string recommendation = text_in(tree.root, "noticeTime");
  if (recommendation.empty()) throw_wrong(kAws, response, "a recommendation with a noticeTime");
  if (std::exchange(last_recommendation_, recommendation) == recommendation) return std::nullopt;
  return PreemptionNotice{"Amazon EC2 may soon take this machine back", std::nullopt};
}

HttpRequest AzureDialect::next_request(double) {
  asked_for_name_ = !name_.has_value();
  return {.path = asked_for_name_
                      ? "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
                      : "/metadata/scheduledevents?api-version=2020-07-01",
          .headers = {"Metadata: true"},
          .timeout_secs = kAzureTimeoutSecs};
}

std::optional<PreemptionNotice> AzureDialect::read(const HttpResponse& response, double now) {
  if (response.status != 200) throw_status(kAzure, response);
  if (asked_for_name_) {
    if (!is_plain(response.body)) throw_wrong(kAzure, response, "the name of this machine");
    name_ = response.body;
    return std::nullopt;
  }
  crochet::internal::JsonTree tree;
  crochet::internal::parse_json(response.body, kAzure, tree);
  if (!tree.root.is_object() || !tree.root.contains("Events") || !tree.root["Events"].is_array())
    throw_wrong(kAzure, response, "a list of events");
  for (const Json& event : tree.root["Events"]) {
    const std::string type = text_in(event, "EventType");
    constexpr std::string_view kEnding[] = {"Preempt", "Terminate", "Reboot", "Redeploy"};
    if (std::ranges::find(kEnding, type) == std::end(kEnding)) continue;
    const auto machines = event.find("Resources");
    const auto is_this = [&](const Json& machine) {
      return machine.is_string() && machine.get_ref<const std::string&>() == *name_;
    };
    if (machines == event.end() || !machines->is_array() ||
        std::ranges::none_of(*machines, is_this))
      continue;
    // Once it has started, it has no time.
    const std::string time = text_in(event, "NotBefore");
    const auto ends_at = time.empty() ? std::optional(now) : parse_utc(time);
    if (!ends_at) throw_wrong(kAzure, response, "an event with the time NotBefore");
    return PreemptionNotice{fmt::format("Azure ends this machine ({})", type), ends_at};
  }
  return std::nullopt;
}

}  // namespace crochet::inline v0::cloud::internal
