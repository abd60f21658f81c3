// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/internal/scheduling_point.h"

namespace crochet::inline v0 {

// Installs a function at all scheduling points during its lifetime. Only one may exist at a time.
class ScopedSchedulingHook {
 public:
  explicit ScopedSchedulingHook(internal::SchedulingHook hook) { internal::scheduling_hook = hook; }
  ~ScopedSchedulingHook() { internal::scheduling_hook = nullptr; }
  ScopedSchedulingHook(const ScopedSchedulingHook&) = delete;
  ScopedSchedulingHook& operator=(const ScopedSchedulingHook&) = delete;
};

}  // namespace crochet::inline v0
