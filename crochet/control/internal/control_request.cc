// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/control/internal/control_request.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/json_text.h"
#include "crochet/base/internal/parse_json.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::array<std::pair<ControlVerb, std::string_view>, 4> kVerbs = {{
    {ControlVerb::kStop, "stop"},
    {ControlVerb::kSave, "save"},
    {ControlVerb::kLimit, "limit"},
    {ControlVerb::kStatus, "status"},
}};

// In a century: no run is that long.
constexpr double kMaxSecs = 3e9;

// The members of an object, with errors that name them.
class Members {
 public:
  Members(std::string_view text, const std::string& path) : path_(path) {
    parse_json(text, path, tree_);
    if (!tree_.root.is_object()) fail("an object", "something else");
  }

  std::string text(const char* name) const {
    const nlohmann::json* const value = find(name);
    if (value == nullptr || !value->is_string()) fail(fmt::format("a text \"{}\"", name), "none");
    return value->get_ref<const std::string&>();
  }
  bool flag(const char* name) const {
    const nlohmann::json* const value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fail(fmt::format("true or false as \"{}\"", name), "something else");
    return value->get<bool>();
  }
  std::optional<int64_t> step(const char* name) const {
    const nlohmann::json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_integer() || value->get<double>() < 0 || value->get<double>() > 1e18)
      fail(fmt::format("a step as \"{}\"", name), "something else");
    return value->get<int64_t>();
  }
  std::optional<double> secs(const char* name) const {
    const nlohmann::json* const value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !(value->get<double>() >= 0 && value->get<double>() <= kMaxSecs))
      fail(fmt::format("seconds as \"{}\"", name), "something else");
    return value->get<double>();
  }
  [[noreturn]] void fail(const std::string& expected, std::string_view found) const {
    throw DataLossError(fmt::format("{}: found {}, expected {}", path_, found, expected));
  }

 private:
  const nlohmann::json* find(const char* name) const {
    const auto found = tree_.root.find(name);
    return found == tree_.root.end() ? nullptr : &*found;
  }

  const std::string& path_;
  JsonTree tree_;
};

}  // namespace

std::string_view verb_name(ControlVerb verb) {
  for (const auto& [each, name] : kVerbs)
    if (each == verb) return name;
  return "";
}

std::string to_json(const ControlRequest& request) {
  JsonText json;
  json.begin_object();
  json.member("id", std::string_view(request.id));
  json.member("verb", verb_name(request.verb));
  if (request.limit.when_saved) json.member("when_saved", true);
  if (request.limit.at_step) json.member("at_step", *request.limit.at_step);
  if (request.limit.until) json.member("until", *request.limit.until);
  if (request.for_secs) json.member("for_secs", *request.for_secs);
  json.end_object();
  return json.take() + "\n";
}

ControlRequest parse_request(std::string_view text, const std::string& path) {
  const Members members(text, path);
  ControlRequest request{.id = members.text("id")};
  const std::string verb = members.text("verb");
  bool is_known = false;
  for (const auto& [each, name] : kVerbs)
    if (name == verb) {
      request.verb = each;
      is_known = true;
    }
  if (!is_known) members.fail("stop, save, limit or status as \"verb\"", "another text");
  request.limit.when_saved = members.flag("when_saved");
  if (request.verb != ControlVerb::kLimit) return request;
  request.limit.at_step = members.step("at_step");
  request.limit.until = members.secs("until");
  request.for_secs = members.secs("for_secs");
  if (request.limit.at_step.has_value() + request.limit.until.has_value() +
          request.for_secs.has_value() >
      1)
    members.fail("one of at_step, until and for_secs", "several");
  return request;
}

std::string to_json(const ControlAnswer& answer) {
  JsonText json;
  json.begin_object();
  json.member("id", std::string_view(answer.id));
  json.member("text", std::string_view(answer.text));
  json.end_object();
  return json.take() + "\n";
}

ControlAnswer parse_answer(std::string_view text, const std::string& path) {
  const Members members(text, path);
  return {members.text("id"), members.text("text")};
}

}  // namespace crochet::inline v0::internal
