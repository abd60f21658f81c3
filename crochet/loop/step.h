// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

namespace internal {
class LoopState;
}  // namespace internal

// What a step asks for by its result.
enum class LoopAction {
  kContinue,
  kStop,  // Ends the run after this step.
  kSkip,  // This attempt was not a step: see Loop::run.
};

// The current step, for callables that take it as a parameter.
class CROCHET_EXPORT Step {
 public:
  // Counts from 1: during step n, n-1 steps are completed.
  int64_t number() const { return number_; }
  // Ends the run after this step, for good: see EndOptions::continue_finished. To end it because
  // of a limit of time, use StopAfterHook. The first reason in a step is the one that is kept.
  void request_stop(std::string reason) {
    if (!stop_) stop_ = std::move(reason);
  }
  // Saves a checkpoint after this step, beyond those that are due; the reason is logged. Without a
  // directory, a warning is logged.
  void request_save(std::string reason = "requested by the step") { save_ = std::move(reason); }

 private:
  friend class internal::LoopState;
  int64_t number_ = 0;
  std::optional<std::string> stop_;
  std::optional<std::string> save_;
};

}  // namespace crochet::inline v0
