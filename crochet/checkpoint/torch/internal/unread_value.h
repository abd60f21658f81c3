// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

// Thrown by what reads one value of a pickle, and caught where values are listed: no value keeps
// the others from being read.
struct UnreadValue {
  Code code;
  std::string why;  // What follows the value's name in a message.
};

// For a value that contradicts the file.
[[noreturn]] inline void fail_value(std::string why) {
  throw UnreadValue{Code::kDataLoss, std::move(why)};
}
// For a value that torch can read.
[[noreturn]] inline void refuse_value(std::string why) {
  throw UnreadValue{Code::kUnimplemented, std::move(why)};
}

}  // namespace crochet::inline v0::internal
