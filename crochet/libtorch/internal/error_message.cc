// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/error_message.h"

namespace crochet::inline v0::libtorch::internal {

std::string first_line(const std::exception& error) {
  // Any backtrace begins on a line of its own.
  const std::string message = error.what();
  return message.substr(0, message.find('\n'));
}

}  // namespace crochet::inline v0::libtorch::internal
