// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>

#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::libtorch::internal {

// Tracks an optimizer of a class that crochet does not know, by way of its save() and load(). In
// the archives that these use, parameters are known by their addresses; checkpoints have their
// names.
void track_foreign_optimizer(Tracker& tracker, torch::optim::Optimizer& optimizer);

}  // namespace crochet::inline v0::libtorch::internal
