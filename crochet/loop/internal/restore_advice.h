// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "crochet/checkpoint/saver/internal/restore_mismatch.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// The restore that advice is for.
struct AdvisedRestore {
  // As the program has set them: the advice keeps them.
  const RestoreOptions& options;
  // Has the program's values.
  const Graph& graph;
  // For crochet::load, which takes the options as an argument; otherwise for a Loop.
  bool is_load = false;
};

// Names what does not fit, and the options with which the program starts, if there are any.
std::string advice(const RestoreMismatch& mismatch, const AdvisedRestore& advised);

// Calls `restore`. An error that says that a checkpoint does not fit becomes one of the same type
// with advice.
void with_advice(const AdvisedRestore& advised, const std::function<void()>& restore);

}  // namespace crochet::inline v0::internal
