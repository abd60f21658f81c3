// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/base/log.h"

namespace crochet::inline v0::internal {

// Receives every line that is logged, whatever the log callback does with it, in the thread that
// logs it. Must be thread-safe, and must not log.
class CROCHET_EXPORT LogListener {
 public:
  virtual ~LogListener() = default;
  // `line` has no control characters.
  virtual void on_line(Severity severity, std::string_view line) noexcept = 0;
};

// It listens for as long as it lives.
CROCHET_EXPORT void add_log_listener(std::weak_ptr<LogListener> listener);

}  // namespace crochet::inline v0::internal
