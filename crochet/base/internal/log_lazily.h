// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "crochet/base/error.h"
#include "crochet/base/log.h"

namespace crochet::inline v0::internal {

// Logs the text that `make_text` returns; if it throws, as when memory is short, that there is
// none. For code that runs after a failure, and must not fail itself.
template <typename MakeText>
void log_lazily(Severity severity, const MakeText& make_text) noexcept {
  try {
    log(severity, make_text());
  } catch (...) {
    log(severity, "an error that cannot be described: out of memory");
  }
}

// Calls `call`. What it throws is logged, after the text that `what` returns.
template <typename What, typename Call>
void try_or_log(const What& what, const Call& call) noexcept {
  try {
    call();
  } catch (...) {
    log_lazily(Severity::kError,
               [&] { return std::string(what()) + ": " + describe(std::current_exception()); });
  }
}

}  // namespace crochet::inline v0::internal
