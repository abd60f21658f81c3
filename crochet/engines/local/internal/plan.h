// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/session/internal/access_gate.h"

namespace crochet::inline v0::local::internal {

// The operations that one kind of run executes, in order: all that the fetches need and the
// feeds do not replace. Made once for each set of fetches and feeds.
class Plan {
 public:
  // Throws: InvalidArgumentError for outputs of another graph, one that is fed twice, or a
  // placeholder that is needed and not fed.
  Plan(const Graph& graph, std::span<const Output> fetches, std::span<const Output> fed);

  bool matches(std::span<const Output> fetches, const Feeds& feeds) const;
  const std::vector<const Node*>& order() const { return order_; }
  // The access to the session's state that the run needs.
  crochet::internal::Access access() const { return access_; }
  // How many operations of the run change state.
  size_t num_changes() const { return num_changes_; }
  // True if an operation runs although one of its outputs is fed.
  bool computes_fed_outputs() const { return computes_fed_outputs_; }
  // The slots that the run uses, with adjacent ones merged.
  struct SlotRange {
    size_t begin = 0;
    size_t end = 0;
  };
  const std::vector<SlotRange>& slots() const { return slots_; }
  // A fetched value.
  struct Fetch {
    static constexpr size_t kNoValue = static_cast<size_t>(-1);
    size_t slot = kNoValue;
    bool is_last = false;  // No later fetch requests the same output.
  };
  const std::vector<Fetch>& fetches() const { return fetch_slots_; }

 private:
  void check_feeds(const Graph& graph) const;
  void collect(const Graph& graph);
  void check_placeholders(const Graph& graph) const;
  bool is_fed(const Output& output) const;
  // Each operation's predecessors within this run.
  std::vector<std::vector<size_t>> edges(const Graph& graph) const;
  void add_variable_edges(const Graph& graph, std::vector<std::vector<size_t>>& edges) const;
  void sort(const Graph& graph);
  void summarize();
  void find_slots();

  std::vector<Output> fetches_;
  std::vector<Output> fed_;
  std::vector<bool> needed_;  // By the node's index.
  std::vector<const Node*> order_;
  crochet::internal::Access access_ = crochet::internal::Access::kNone;
  size_t num_changes_ = 0;
  bool computes_fed_outputs_ = false;
  std::vector<SlotRange> slots_;
  std::vector<Fetch> fetch_slots_;
};

}  // namespace crochet::inline v0::local::internal
