// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/status.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

// TensorFlow's codes are the canonical ones; later versions may add more.
Code code_of(TF_Code code) {
  const int number = static_cast<int>(code);
  return number >= static_cast<int>(Code::kCancelled) &&
                 number <= static_cast<int>(Code::kUnauthenticated)
             ? static_cast<Code>(number)
             : Code::kUnknown;
}

// The text between two others; unset unless both are found.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  const size_t begin = text.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(begin + before.size());
  const size_t end = rest.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

// In a cluster TensorFlow puts what all members say into one message, and may choose the code of
// one that was only cancelled because another one is lost.
Code code_of_members(Code code, std::string_view message) {
  if (code != Code::kCancelled) return code;
  if (message.find("UNAVAILABLE: From /job:") != std::string_view::npos) return Code::kUnavailable;
  if (message.find("ABORTED: From /job:") != std::string_view::npos) return Code::kAborted;
  return code;
}

// A one-line version of TensorFlow's message about a missing device; other messages unchanged.
std::string readable(std::string_view message) {
  const auto wanted = between(message, " was explicitly assigned to ", " but available devices");
  const auto present = between(message, "available devices are [ ", " ]");
  if (!message.starts_with("Cannot assign a device for operation") || !wanted || !present)
    return std::string(message);
  return fmt::format(
      "is on the device \"{}\", which the session does not have: it has {}; export the graph for "
      "these, have the session see the other one's task, or set ConfigProto.allow_soft_placement",
      *wanted, *present);
}

}  // namespace

Status::Status() : status_(TF_NewStatus()) {}

Status::~Status() { TF_DeleteStatus(status_); }

bool Status::ok() const { return TF_GetCode(status_) == TF_OK; }

std::string_view Status::message() const { return TF_Message(status_); }

void Status::check(std::string_view what) const {
  if (ok()) return;
  const std::string_view message = TF_Message(status_);
  const std::string_view operation = failed_operation(message);
  throw_error(code_of_members(code_of(TF_GetCode(status_)), message),
              operation.empty()
                  ? fmt::format("{}: {}", what, message)
                  : fmt::format("{}: operation \"{}\": {}", what, operation, readable(message)));
}

std::string_view failed_operation(std::string_view message) {
  return between(message, "{{node ", "}}").value_or("");
}

}  // namespace crochet::inline v0::tensorflow::internal
