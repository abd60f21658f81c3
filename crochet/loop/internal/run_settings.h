// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/loop/loop_options.h"
#include "crochet/loop/monitored_training_session.h"
#include "crochet/summary/summary_writer.h"

namespace crochet::inline v0::internal {

// What differs from the defaults, by the options' paths: "checkpoint.every_steps". Functions and
// other objects are only named. Of hooks, their names.
std::vector<Hyperparameter> changed_options(const LoopOptions& options);
std::vector<Hyperparameter> changed_options(const MonitoredTrainingSessionOptions& options);

}  // namespace crochet::inline v0::internal
