// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "crochet/training/session_run_hook.h"

namespace digits {

// Keeps the best "accuracy", checked at every 100th step, and its step.
// Both are saved with the model: a resumed run knows the best of all runs.
class BestAccuracyHook final : public crochet::SessionRunHook {
 public:
  static constexpr int64_t kEverySteps = 100;

  void begin(crochet::Graph& graph) override;
  void after_create_session(crochet::Session& session, crochet::Coordinator& coordinator) override;
  std::optional<crochet::SessionRunArgs> before_run(crochet::SessionRunContext& context) override;
  void after_run(crochet::SessionRunContext& context,
                 const crochet::SessionRunValues& values) override;
  crochet::SaveableMap saveables() override;

  float best() const { return best_; }
  // 0 before the first check.
  int64_t best_step() const { return best_step_; }

 private:
  crochet::Output accuracy_;
  int64_t step_ = 0;  // Steps completed.
  float best_ = 0;
  int64_t best_step_ = 0;
};

}  // namespace digits
