// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "crochet/run/present_shapes.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::internal {

// Logs whose size a restore changes: a growing array takes the size that it has in the checkpoint,
// which the program may not expect. An array that was empty is one that a restore is to fill.
class ResizedValues {
 public:
  // Records the shapes before the restore. Requires: the graph outlives this.
  explicit ResizedValues(const Graph& graph) : graph_(graph), before_(present_shapes(graph)) {}

  // After the restore of `prefix`: one line, or none.
  void log(const std::string& prefix) const;

 private:
  const Graph& graph_;
  const std::map<std::string, Shape> before_;
};

}  // namespace crochet::inline v0::internal
