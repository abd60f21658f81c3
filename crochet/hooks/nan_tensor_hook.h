// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/monitor/session_run_hook.h"

namespace crochet {

struct NanTensorHookOptions {
  // True: throw NanLossDuringTrainingError. False: log a warning and request a stop.
  bool fail_on_nan_loss = true;
};

// Watches a loss, at every step, and ends training once it is NaN. Infinity is not
// NaN. A loss that is unset in a step is not looked at.
//
// The step that met NaN is never saved: savers come behind all other hooks, and a run that is only
// asked to stop rejects its last step.
class NanTensorHook final : public SessionRunHook {
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

}  // namespace crochet
