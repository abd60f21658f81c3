// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/s3_access.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/base/log.h"
#include "crochet/cloud/internal/json_member.h"
#include "crochet/cloud/internal/parse_utc.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using crochet::internal::JsonTree;
using crochet::internal::parse_json;

constexpr uint64_t kMaxCredentialsBytes = 1 << 20;
constexpr double kMetadataSecs = 2;  // Where there is no such server, nothing answers.

std::string variable(const char* name) {
  const char* const value = ::getenv(name);
  return value != nullptr ? value : "";
}

std::string first_of(std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (std::string value = variable(name); !value.empty()) return value;
  return {};
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The settings of a profile in a file as ~/.aws/credentials.
std::map<std::string, std::string> read_profile(std::string_view text, std::string_view profile) {
  std::map<std::string, std::string> settings;
  bool is_in_it = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('['))
      is_in_it = line.ends_with(']') && trimmed(line.substr(1, line.size() - 2)) == profile;
    const auto equals = line.find('=');
    if (!is_in_it || line.starts_with('#') || line.starts_with('[') || equals == line.npos)
      continue;
    settings[std::string(trimmed(line.substr(0, equals)))] = trimmed(line.substr(equals + 1));
  }
  return settings;
}

std::optional<S3Credentials> of_environment() {
  S3Credentials found{.key_id = variable("AWS_ACCESS_KEY_ID"),
                      .secret = variable("AWS_SECRET_ACCESS_KEY"),
                      .token = variable("AWS_SESSION_TOKEN")};
  if (found.key_id.empty() || found.secret.empty()) return std::nullopt;
  return found;
}

std::optional<S3Credentials> of_file() {
  std::string path = variable("AWS_SHARED_CREDENTIALS_FILE");
  if (path.empty()) path = join_path(variable("HOME"), ".aws/credentials");
  const std::string profile = variable("AWS_PROFILE");
  FileSystem& files = FileSystem::posix();
  if (!files.exists(path)) return std::nullopt;
  auto settings =
      read_profile(crochet::internal::read_untrusted_file(files, path, kMaxCredentialsBytes),
                   profile.empty() ? "default" : profile);
  S3Credentials found{.key_id = settings["aws_access_key_id"],
                      .secret = settings["aws_secret_access_key"],
                      .token = settings["aws_session_token"]};
  if (found.key_id.empty() || found.secret.empty()) return std::nullopt;
  return found;
}

// By IMDSv2. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/iam-roles-for-amazon-ec2.html
std::optional<S3Credentials> of_machine() {
  if (variable("AWS_EC2_METADATA_DISABLED") == "true") return std::nullopt;
  std::string host = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (host.empty()) host = "http://169.254.169.254";
  if (host.starts_with("http://")) host.erase(0, 7);
  while (host.ends_with('/')) host.pop_back();
  try {
    HttpClient client(host);
    const auto ask = [&](HttpRequest request) {
      request.timeout_secs = kMetadataSecs;
      const HttpResponse response = *client.send(request, {});
      if (response.status != 200)
        throw UnavailableError(fmt::format("the machine's metadata server answered {} to {}",
                                           response.status, request.path));
      return response.body;
    };
    const std::string header = "X-aws-ec2-metadata-token: " +
                               ask({.method = HttpMethod::kPut,
                                    .path = "/latest/api/token",
                                    .headers = {"X-aws-ec2-metadata-token-ttl-seconds: 300"}});
    const std::string path = "/latest/meta-data/iam/security-credentials/";
    const std::string roles = ask({.path = path, .headers = {header}});
    const std::string role(trimmed(roles.substr(0, roles.find('\n'))));
    JsonTree tree;
    parse_json(ask({.path = path + role, .headers = {header}}), "the machine's credentials", tree);
    S3Credentials found{.key_id = text_in(tree.root, "AccessKeyId"),
                        .secret = text_in(tree.root, "SecretAccessKey"),
                        .token = text_in(tree.root, "Token"),
                        .ends_at = parse_utc(text_in(tree.root, "Expiration"))};
    if (!found.key_id.empty() && !found.secret.empty()) return found;
  } catch (const Error& error) {
    log_debug(error.what());
  }
  return std::nullopt;
}

bool is_bucket(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return name.size() >= 3 && name.size() <= 63 && is_letter(name.front()) &&
         is_letter(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || c == '.' || c == '-'; });
}

bool is_part(std::string_view part) {
  return !part.empty() && part != "." && part != ".." &&
         std::ranges::none_of(part, [](char c) { return c >= 0 && (c < ' ' || c == '\x7f'); });
}

bool is_prefix(std::string_view prefix) {
  while (true) {
    const auto end = prefix.find('/');
    if (!is_part(prefix.substr(0, end))) return false;
    if (end == prefix.npos) return true;
    prefix.remove_prefix(end + 1);
  }
}

}  // namespace

std::string S3Place::url() const {
  return fmt::format("{}{}{}{}", kS3Scheme, bucket, prefix.empty() ? "" : "/", prefix);
}

S3Place parse_s3_url(std::string_view url) {
  std::string_view rest = url;
  const bool has_scheme = rest.starts_with(kS3Scheme);
  if (has_scheme) rest.remove_prefix(kS3Scheme.size());
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const auto end = std::min(rest.find('/'), rest.size());
  S3Place place{.bucket = std::string(rest.substr(0, end)),
                .prefix = std::string(rest.substr(std::min(end + 1, rest.size())))};
  if (!has_scheme || !is_bucket(place.bucket) ||
      (!place.prefix.empty() && !is_prefix(place.prefix)))
    throw InvalidArgumentError(fmt::format(
        "\"{}\" is not a place in a bucket, expected s3://<bucket>/<prefix>, with a bucket "
        "of 3 to 63 lower-case letters, digits, '-' and '.'",
        url));
  return place;
}

S3Server find_s3_server(const std::string& bucket) {
  S3Server found;
  found.region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (found.region.empty()) found.region = "us-east-1";
  found.server.may_use_proxy = true;
  found.server.authorities = variable("AWS_CA_BUNDLE");
  std::string endpoint = first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty()) {
    found.server.is_https = true;
    // No certificate of Amazon's is for a host with further dots.
    const bool is_in_host = bucket.find('.') == bucket.npos;
    found.server.host =
        fmt::format("{}s3.{}.amazonaws.com", is_in_host ? bucket + "." : "", found.region);
    found.root = is_in_host ? "" : "/" + bucket;
    return found;
  }
  while (endpoint.ends_with('/')) endpoint.pop_back();
  found.server.is_https = endpoint.starts_with("https://");
  if (!found.server.is_https && !endpoint.starts_with("http://"))
    throw InvalidArgumentError(fmt::format(
        "AWS_ENDPOINT_URL is \"{}\", expected http://<host> or https://<host>", endpoint));
  found.server.host = endpoint.substr(endpoint.find("//") + 2);
  found.root = "/" + bucket;
  return found;
}

S3Credentials find_s3_credentials() {
  for (const auto find : std::to_array({&of_environment, &of_file, &of_machine}))
    if (auto found = find()) return *std::move(found);
  throw UnauthenticatedError(
      "no credentials for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, "
      "~/.aws/credentials does not have the profile, and this machine has no role");
}

}  // namespace crochet::inline v0::cloud::internal
