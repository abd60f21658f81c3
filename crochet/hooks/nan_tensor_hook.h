// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

struct NanTensorHookOptions {
  // If true, throws NanLossDuringTrainingError; if false, logs a warning and requests a stop.
  bool fail_on_nan_loss = true;
};

// Checks a loss at every step and ends training once it is NaN. Infinity is not
// NaN. A loss that is unset in a step is ignored.
//
// The step with the NaN is never saved: savers are called after all other hooks, and with
// fail_on_nan_loss = false this hook rejects the step.
class CROCHET_EXPORT NanTensorHook final : public SessionRunHook {
 public:
  // `loss_tensor` is an output or its name: one real number.
  explicit NanTensorHook(Fetches loss_tensor, NanTensorHookOptions options = {});

  void begin(Graph& graph) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  Fetches loss_;
  NanTensorHookOptions options_;
};

}  // namespace crochet::inline v0
