// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/tracking/tracker.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace crochet::inline v0::libtorch::internal {

class OptimizerFields;

// Tracks an optimizer whose fields are known: its state by the names of the parameters, and its
// options by group. A restore makes the state, and the groups, that the checkpoint has.
void track_known(Tracker& tracker, torch::optim::Optimizer& optimizer,
                 std::shared_ptr<const OptimizerFields> fields);

}  // namespace crochet::inline v0::libtorch::internal
