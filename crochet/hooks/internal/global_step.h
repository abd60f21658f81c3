// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// The graph's global step, which `hook` requires. Throws:
// FailedPreconditionError, naming the hook, if there is none.
Output require_global_step(const Graph& graph, const SessionRunHook& hook);

// Throws: FailedPreconditionError, naming the hook, unless `is_ready`: before_run uses what begin
// and after_create_session set, which code that drives a hook without MonitoredSession must call.
void require_session(bool is_ready, const SessionRunHook& hook);

}  // namespace crochet::inline v0::internal
