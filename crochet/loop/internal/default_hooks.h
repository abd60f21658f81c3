// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/loop/internal/training_run.h"
#include "crochet/training/scaffold.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// The hooks of a run, in their order: the chief's own, steps per second and summaries (if there
// is a directory for them), those of the user, the saver, and those that guard it. Throws:
// what the hooks' constructors throw.
HookList wire_default_hooks(const TrainingRun& run, const std::shared_ptr<Scaffold>& scaffold);

}  // namespace crochet::inline v0::internal
