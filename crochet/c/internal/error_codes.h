// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

// The code for C of what is being caught, whose text crochet_last_error() returns from now on.
int code_of_caught() noexcept;

// What a function for C does: no exception leaves it.
template <typename Call>
int code_of(const Call& call) noexcept {
  try {
    call();
    return 0;
  } catch (...) {
    return code_of_caught();
  }
}

// Throws: InvalidArgumentError, which names the argument.
void check_given(const void* argument, const char* name);

}  // namespace crochet::inline v0::internal
