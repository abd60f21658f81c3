// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/monitor/hook_list.h"
#include "crochet/monitor/scaffold.h"
#include "crochet/run/monitored_training_session.h"

namespace crochet::inline v0::internal {

class GroupRun;

// The hooks of a run, in their order: the chief's own, steps per second and summaries (if there
// is a directory for them), those of the user, the saver, and those that guard it. `group_run` may
// be null if the hooks are not called. `steps_per_run` is the saver's.
//
// Throws: InvalidArgumentError for a negative interval, or two of a pair.
HookList wire_default_hooks(const MonitoredTrainingSessionOptions& options,
                            const std::shared_ptr<Scaffold>& scaffold,
                            const std::shared_ptr<GroupRun>& group_run,
                            std::optional<int64_t> steps_per_run = {});

}  // namespace crochet::inline v0::internal
