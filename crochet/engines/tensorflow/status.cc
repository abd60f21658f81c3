// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/status.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/c_api.h"

namespace crochet::tensorflow::internal {
namespace {

// TensorFlow's codes are the canonical ones; a later version may have more of them.
Code code_of(TF_Code code) {
  const int number = static_cast<int>(code);
  return number >= static_cast<int>(Code::kCancelled) &&
                 number <= static_cast<int>(Code::kUnauthenticated)
             ? static_cast<Code>(number)
             : Code::kUnknown;
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
  throw_error(code_of(TF_GetCode(status_)),
              operation.empty()
                  ? fmt::format("{}: {}", what, message)
                  : fmt::format("{}: operation \"{}\": {}", what, operation, message));
}

std::string_view failed_operation(std::string_view message) {
  constexpr std::string_view kBegin = "{{node ";
  const size_t begin = message.find(kBegin);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = message.substr(begin + kBegin.size());
  const size_t end = rest.find("}}");
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace crochet::tensorflow::internal
