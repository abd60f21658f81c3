// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace crochet::inline v0::internal {

// In a catch block: what was caught, never null. std::current_exception() is null while
// pthread_exit() or pthread_cancel() unwinds the thread. That is not an error, and a handler that
// stops it ends the process: then this does not return, and the unwinding continues.
inline std::exception_ptr caught() {
  std::exception_ptr error = std::current_exception();
  if (!error) throw;
  return error;
}

}  // namespace crochet::inline v0::internal
