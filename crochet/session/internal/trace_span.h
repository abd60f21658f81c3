// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace crochet::inline v0::internal {

// What a run of a program does beside the engine's operations, in a trace: a hook, a save.
struct TraceSpan {
  std::string track;  // A thread on its own, "saves in runs/digits".
  std::string name;
  std::chrono::nanoseconds start = {};  // Since the trace began.
  std::chrono::nanoseconds duration = {};
};

}  // namespace crochet::inline v0::internal
