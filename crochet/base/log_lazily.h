// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/log.h"

namespace crochet::inline v0 {

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

}  // namespace crochet::inline v0
