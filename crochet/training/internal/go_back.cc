// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/go_back.h"

namespace crochet::inline v0::internal {

std::optional<int64_t> step_to_go_back_to(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const GoBackError& request) {
    return request.step();
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace crochet::inline v0::internal
