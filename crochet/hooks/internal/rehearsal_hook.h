// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/rehearsal.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Does what `crochet rehearse` asks of a run: requests a save after one step, and sends SIGKILL to
// its own process after a later one, so that what was not saved by then is lost. Only use it with
// hooks that publish a save within its step.
class CROCHET_EXPORT RehearsalHook final : public SessionRunHook {
 public:
  explicit RehearsalHook(const Rehearsal& rehearsal) : rehearsal_(rehearsal) {}

  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  const Rehearsal rehearsal_;
  bool has_requested_ = false;
};

}  // namespace crochet::inline v0::internal
