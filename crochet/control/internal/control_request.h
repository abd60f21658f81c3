// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// What a run is asked for from outside, by the commands of these names.
enum class ControlVerb { kStop, kSave, kLimit, kStatus };

// When a run ends: at one of these, or never.
struct RunLimit {
  std::optional<int64_t> at_step = {};
  std::optional<double> until = {};  // Seconds since 1970-01-01 UTC.
  // Ends with the first checkpoint after that, instead of making one.
  bool when_saved = false;

  friend bool operator==(const RunLimit&, const RunLimit&) = default;
};

struct ControlRequest {
  std::string id;  // By which its answer is found.
  ControlVerb verb = ControlVerb::kStatus;
  // Of kLimit; neither a step nor a time: without a limit from now on. Of kStop: only when_saved.
  RunLimit limit = {};
  // Of kLimit: instead of a time, seconds from when the run reads this.
  std::optional<double> for_secs = {};

  friend bool operator==(const ControlRequest&, const ControlRequest&) = default;
};

struct ControlAnswer {
  std::string id;    // Of the request.
  std::string text;  // What will happen.

  friend bool operator==(const ControlAnswer&, const ControlAnswer&) = default;
};

// "stop", "save", "limit", "status".
CROCHET_EXPORT std::string_view verb_name(ControlVerb verb);

// As objects of JSON. `path` names the file in errors. Parsing throws: DataLossError for a text
// that is no such object, or has a number that cannot be.
CROCHET_EXPORT std::string to_json(const ControlRequest& request);
CROCHET_EXPORT ControlRequest parse_request(std::string_view text, const std::string& path);
CROCHET_EXPORT std::string to_json(const ControlAnswer& answer);
CROCHET_EXPORT ControlAnswer parse_answer(std::string_view text, const std::string& path);

}  // namespace crochet::inline v0::internal
