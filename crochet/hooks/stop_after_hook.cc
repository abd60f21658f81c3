// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/hooks/stop_at_step_hook.h"

namespace crochet::inline v0 {

StopAfterHook::StopAfterHook(const StopAfterHookOptions& options)
    : secs_(options.secs), clock_(&Clock::or_real(options.clock)) {
  internal::check_above("StopAfterHook: secs", secs_, 0);
}

void StopAfterHook::begin(Graph&) { start_ = clock_->now(); }

void StopAfterHook::after_create_session(Session&, Coordinator& coordinator) {
  // Restoring may have taken all the time.
  if (is_over()) coordinator.request_stop(StopRequest{name(), reason()});
}

void StopAfterHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (is_over()) context.request_stop(reason());
}

bool StopAfterHook::is_over() const { return clock_->now() - start_ >= from_seconds(secs_); }

std::string StopAfterHook::reason() const {
  return fmt::format("the run has lasted for {:g} seconds", secs_);
}

}  // namespace crochet::inline v0
