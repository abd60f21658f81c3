// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "crochet/engines/local/graph.h"

namespace crochet::local {

// What one kind of run executes, in order: all that the fetches need and the
// feeds do not replace. Made once for each set of fetches and feeds.
class Plan {
 public:
  // Throws: InvalidArgumentError for outputs of another graph, or one that is fed twice.
  Plan(const Graph& graph, std::span<const Output> fetches, std::span<const Output> fed);

  bool matches(std::span<const Output> fetches, std::span<const Output> fed) const;
  const std::vector<const Graph::Node*>& order() const { return order_; }

 private:
  void collect(const Graph& graph, const Output& output);
  // Each operation's predecessors within this run.
  std::vector<std::vector<size_t>> edges(const Graph& graph) const;
  void sort(const Graph& graph);

  std::vector<Output> fetches_;
  std::vector<Output> fed_;
  std::vector<bool> needed_;  // By the node's index.
  std::vector<const Graph::Node*> order_;
};

}  // namespace crochet::local
