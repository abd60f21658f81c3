// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/plan.h"

#include <algorithm>
#include <cassert>
#include <queue>

#include "crochet/base/error.h"

namespace crochet::local {
namespace {

const Graph::Node& node_of(const Output& output) {
  return static_cast<const Graph::Node&>(*output.operation());
}

bool touches(const std::vector<Variable>& variables, const Variable& variable) {
  return std::ranges::find(variables, variable) != variables.end();
}

// True if `to` can be reached backwards from `from`.
bool depends_on(const std::vector<std::vector<size_t>>& edges, size_t from, size_t to) {
  std::vector<bool> seen(edges.size());
  std::vector<size_t> stack = {from};
  while (!stack.empty()) {
    const size_t index = stack.back();
    stack.pop_back();
    if (index == to) return true;
    if (seen[index]) continue;
    seen[index] = true;
    stack.insert(stack.end(), edges[index].begin(), edges[index].end());
  }
  return false;
}

}  // namespace

Plan::Plan(const Graph& graph, std::span<const Output> fetches, std::span<const Output> fed)
    : fetches_(fetches.begin(), fetches.end()),
      fed_(fed.begin(), fed.end()),
      needed_(graph.nodes().size()) {
  for (auto output = fed_.begin(); output != fed_.end(); ++output) {
    if (std::find(fed_.begin(), output, *output) != output)
      throw InvalidArgumentError("{} is fed twice", to_string(*output));
    if (output->graph() != &graph || !output->has_value())
      throw InvalidArgumentError("{} cannot be fed: it is not a value of this graph",
                                 to_string(*output));
  }
  for (const Output& output : fetches_) collect(graph, output);
  sort(graph);
}

bool Plan::matches(std::span<const Output> fetches, std::span<const Output> fed) const {
  return std::ranges::equal(fetches_, fetches) && std::ranges::equal(fed_, fed);
}

void Plan::collect(const Graph& graph, const Output& output) {
  if (output.graph() != &graph)
    throw InvalidArgumentError("{} is not an output of this graph", to_string(output));
  if (std::ranges::find(fed_, output) != fed_.end()) return;
  const Graph::Node& node = node_of(output);
  if (needed_[node.index]) return;
  needed_[node.index] = true;
  for (const Output& input : node.options.inputs) collect(graph, input);
  for (const Output& input : node.options.control_inputs) collect(graph, input);
}

std::vector<std::vector<size_t>> Plan::edges(const Graph& graph) const {
  std::vector<std::vector<size_t>> edges(needed_.size());
  for (const auto& node : graph.nodes()) {
    if (!needed_[node->index]) continue;
    for (const auto* const outputs :
         {&node->options.inputs, &node->options.control_inputs, &node->options.after})
      for (const Output& output : *outputs)
        if (needed_[node_of(output).index]) edges[node->index].push_back(node_of(output).index);
  }
  // A variable is read before it is updated, unless the read depends on the update.
  for (const auto& reader : graph.nodes()) {
    if (!needed_[reader->index]) continue;
    for (const Variable& variable : reader->options.reads)
      for (const auto& writer : graph.nodes())
        if (needed_[writer->index] && writer != reader &&
            touches(writer->options.updates, variable) &&
            !depends_on(edges, reader->index, writer->index))
          edges[writer->index].push_back(reader->index);
  }
  return edges;
}

void Plan::sort(const Graph& graph) {
  const std::vector<std::vector<size_t>> predecessors = edges(graph);
  std::vector<std::vector<size_t>> successors(predecessors.size());
  std::vector<size_t> waiting_for(predecessors.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // First added first.
  [[maybe_unused]] size_t num_needed = 0;
  for (size_t index = 0; index < predecessors.size(); ++index) {
    if (!needed_[index]) continue;
    ++num_needed;
    waiting_for[index] = predecessors[index].size();
    for (const size_t predecessor : predecessors[index]) successors[predecessor].push_back(index);
    if (waiting_for[index] == 0) ready.push(index);
  }
  while (!ready.empty()) {
    const size_t index = ready.top();
    ready.pop();
    order_.push_back(graph.nodes()[index].get());
    for (const size_t successor : successors[index])
      if (--waiting_for[successor] == 0) ready.push(successor);
  }
  // Operations only refer to older ones, and a read waits for no update that waits for it.
  assert(order_.size() == num_needed && "operations wait for one another");
}

}  // namespace crochet::local
