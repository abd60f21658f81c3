// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/tracked_epochs.h"

#include <memory>
#include <utility>

namespace crochet::inline v0::internal {
namespace {

struct TrackedEpochs {
  EpochProgress progress;
};

}  // namespace

void record_tracked_epochs(Graph& graph, EpochProgress progress) {
  graph.attach(std::make_shared<TrackedEpochs>(TrackedEpochs{std::move(progress)}));
}

EpochProgress tracked_epochs(const Graph& graph) {
  const auto all = graph.attached<TrackedEpochs>();
  return all.empty() ? EpochProgress() : all.front()->progress;
}

}  // namespace crochet::inline v0::internal
