// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// EpochOrder::progress() of epochs that are tracked; unset if they are gone, as with a container
// that owned them.
using EpochProgress = std::function<std::optional<double>()>;

// Records epochs whose state is in the graph.
void record_tracked_epochs(Graph& graph, EpochProgress progress);
// The progress of those that were recorded first; empty if none were.
EpochProgress tracked_epochs(const Graph& graph);

}  // namespace crochet::inline v0::internal
