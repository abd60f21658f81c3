// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "crochet/checkpoint/saver.h"
#include "crochet/session/session.h"

namespace crochet {

// The pieces around a graph that a session needs: how it is initialised, saved and
// summarised. What is unset is filled in by finalize().
struct Scaffold {
  // Saves and restores; a Saver with its defaults.
  std::shared_ptr<Saver> saver = {};
  // Called with a new session that was not restored.
  std::function<void(Session& session)> init_fn = {};
  // What SummarySaverHook fetches: a map from tag to value; all of the graph's collections
  // of summaries (graph.h), under the names of the operations.
  Fetches summary_op = {};

  // Fills what is unset, then makes the graph final. Calling it again changes nothing.
  void finalize(Graph& graph);
};

}  // namespace crochet
