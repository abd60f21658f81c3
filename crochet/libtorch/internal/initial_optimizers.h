// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "crochet/engines/local/graph.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::libtorch::internal {

// What the program gave an optimizer before its training changed it.
struct InitialOptimizer {
  size_t num_groups = 0;
  std::map<std::string, std::string> options = {};  // As texts, by their names.
  // The names of the parameters, by their places; empty for one that no module has.
  std::vector<std::string> parameters = {};

  TensorMap save_options() const;
  // Takes the options of the run that saved, and logs which of those that are restored (`read`)
  // the program gives the optimizer otherwise.
  void compare_options(const TensorMap& state, const std::string& optimizer,
                       const std::set<std::string>& read);
};

// Those of a graph, by the optimizers' names.
struct InitialOptimizers {
  std::map<std::string, InitialOptimizer> by_name = {};

  static std::shared_ptr<InitialOptimizers> of(local::Graph& graph);
};

}  // namespace crochet::inline v0::libtorch::internal
