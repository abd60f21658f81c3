// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "crochet/copies/internal/graph_barriers.h"
#include "crochet/copies/internal/parallel_copier.h"
#include "crochet/engines/local/graph.h"

namespace crochet::inline v0::local::internal {

// An operation of a local graph.
struct Node : OperationInfo {
  // The fields that every call needs, in one cache line.
  struct alignas(64) Call {
    Kernel kernel;
    size_t first_slot = 0;  // Of the outputs.
    bool checks_inputs = false;
    bool changes_state = false;
  };

  Call call;
  size_t index = 0;
  OperationOptions options;  // Without the kernel.
  bool is_placeholder = false;
  std::vector<size_t> input_slots;  // By input.
  std::vector<size_t> updates;      // Variables, by their index.
  std::vector<size_t> replaces;

  size_t slot(int output) const { return call.first_slot + static_cast<size_t>(output); }
  // The spec of the output; null if nothing is known.
  const TensorSpec* output_spec(int output) const;
  // Throws: InvalidArgumentError if a value does not match the spec of its input.
  void check_inputs(std::span<const Tensor> values) const;
};

struct VariableNode : VariableInfo {
  size_t index = 0;
  Tensor initial;       // Set if owned.
  Output value;         // Set if owned: the operation that reads it, which has no name.
  BorrowedArray array;  // Set if borrowed.

  bool is_owned() const { return initial.is_set(); }
};

// Requires: the output or variable is one of a local graph.
inline const Node& node_of(const Output& output) {
  return static_cast<const Node&>(*output.operation());
}
inline const VariableNode& node_of(const Variable& variable) {
  return static_cast<const VariableNode&>(*variable.info());
}

// What a local graph consists of, for its sessions and for the objects that belong to it.
struct GraphState {
  static GraphState& of(Graph& graph) { return *graph.state_; }
  static const GraphState& of(const Graph& graph) { return *graph.state_; }

  // In the order in which they were added.
  std::vector<std::unique_ptr<Node>> nodes;
  std::map<std::string, Node*, std::less<>> nodes_by_name;
  std::vector<std::unique_ptr<VariableNode>> variables;
  std::unordered_map<std::string_view, const VariableNode*> variables_by_name;
  // The values of a run are in one array, in which each output has a slot.
  size_t num_slots = 0;
  bool background_copies = false;
  bool checks_snapshots = false;
  crochet::internal::GraphBarriers barriers;
  crochet::internal::SharedCopier copier = crochet::internal::make_shared_copier(0);
};

}  // namespace crochet::inline v0::local::internal
