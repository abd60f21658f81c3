// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/global_step.h"

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

Output require_global_step(const Graph& graph, const SessionRunHook& hook) {
  const Output step = graph.global_step();
  if (!step)
    throw FailedPreconditionError(
        fmt::format("{} requires a global step: the graph has none", hook.name()));
  return step;
}

void require_session(bool is_ready, const SessionRunHook& hook) {
  if (!is_ready)
    throw FailedPreconditionError(fmt::format(
        "{}: before_run was called before begin and after_create_session, as MonitoredSession "
        "calls them",
        hook.name()));
}

}  // namespace crochet::inline v0::internal
