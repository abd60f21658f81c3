// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/rehearsal_hook.h"

#include <csignal>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

std::optional<SessionRunArgs> RehearsalHook::before_run(SessionRunContext& context) {
  context.request_global_step();
  return {};
}

void RehearsalHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  // A run may add several steps: then the step is read once the first of them may be the one.
  if (context.global_step() + 1 < rehearsal_.save_step) return;
  const int64_t step = read_global_step(context.session());
  if (step >= rehearsal_.kill_step) {
    log_info(fmt::format("rehearsal: killed after step {}", step));
    flush_log();
    std::raise(SIGKILL);
  }
  if (has_requested_ || step < rehearsal_.save_step) return;
  has_requested_ = true;
  context.request_save("rehearsal");
}

}  // namespace crochet::inline v0::internal
