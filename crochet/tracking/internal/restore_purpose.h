// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// What the restores of a graph are for. What only the training needs in which it was saved, such as
// gradients and the modes of modules, is left as the program has it where values are taken for
// something else: by load(), an Evaluator, or a new training with RestoreOptions::only.
struct RestorePurpose {
  bool is_same_training = true;
  bool is_own_run = true;  // False while a checkpoint of another run is restored.

  static std::shared_ptr<RestorePurpose> of(Graph& graph) {
    if (const auto attached = graph.attached<RestorePurpose>(); !attached.empty())
      return attached.front();
    const auto purpose = std::make_shared<RestorePurpose>();
    graph.attach(purpose);
    return purpose;
  }
};

}  // namespace crochet::inline v0::internal
