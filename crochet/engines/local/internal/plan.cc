// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/plan.h"

#include <algorithm>
#include <cassert>
#include <queue>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::local::internal {
namespace {

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
      needed_(GraphState::of(graph).nodes.size()) {
  check_feeds(graph);
  collect(graph);
  check_placeholders(graph);
  sort(graph);
  summarize();
  find_slots();
}

bool Plan::matches(std::span<const Output> fetches, const Feeds& feeds) const {
  return std::ranges::equal(fetches_, fetches) &&
         std::ranges::equal(fed_, feeds, {}, {}, &Feeds::value_type::first);
}

void Plan::check_feeds(const Graph& graph) const {
  for (auto output = fed_.begin(); output != fed_.end(); ++output) {
    if (std::find(fed_.begin(), output, *output) != output)
      throw InvalidArgumentError(fmt::format("{} is fed twice", to_string(*output)));
    if (output->graph() != &graph || !output->has_value())
      throw InvalidArgumentError(
          fmt::format("{} cannot be fed: it is not a value of this graph", to_string(*output)));
  }
}

bool Plan::is_fed(const Output& output) const {
  return std::ranges::find(fed_, output) != fed_.end();
}

void Plan::collect(const Graph& graph) {
  std::vector<Output> wanted = fetches_;
  while (!wanted.empty()) {
    const Output output = wanted.back();
    wanted.pop_back();
    if (output.graph() != &graph)
      throw InvalidArgumentError(
          fmt::format("{} is not an output of this graph", to_string(output)));
    const Node& node = node_of(output);
    if (needed_[node.index] || is_fed(output)) continue;
    needed_[node.index] = true;
    wanted.insert(wanted.end(), node.options.inputs.begin(), node.options.inputs.end());
    wanted.insert(wanted.end(), node.options.control_inputs.begin(),
                  node.options.control_inputs.end());
  }
}

void Plan::check_placeholders(const Graph& graph) const {
  for (const auto& node : GraphState::of(graph).nodes)
    if (needed_[node->index] && node->is_placeholder)
      throw InvalidArgumentError(
          fmt::format("placeholder \"{}\" must be fed: the run needs a value {}", node->name,
                      to_string(*node->output_spec(0))));
}

std::vector<std::vector<size_t>> Plan::edges(const Graph& graph) const {
  std::vector<std::vector<size_t>> edges(needed_.size());
  for (const auto& node : GraphState::of(graph).nodes) {
    if (!needed_[node->index]) continue;
    for (const auto* const outputs :
         {&node->options.inputs, &node->options.control_inputs, &node->options.after})
      for (const Output& output : *outputs)
        if (needed_[node_of(output).index]) edges[node->index].push_back(node_of(output).index);
  }
  add_variable_edges(graph, edges);
  return edges;
}

// A variable is read before it is changed, unless the read depends on the change.
void Plan::add_variable_edges(const Graph& graph, std::vector<std::vector<size_t>>& edges) const {
  std::vector<std::vector<size_t>> writers(GraphState::of(graph).variables.size());
  for (const auto& node : GraphState::of(graph).nodes) {
    if (!needed_[node->index]) continue;
    for (const size_t variable : node->updates) writers[variable].push_back(node->index);
    for (const size_t variable : node->replaces) writers[variable].push_back(node->index);
  }
  for (const auto& reader : GraphState::of(graph).nodes) {
    if (!needed_[reader->index]) continue;
    for (const Variable& variable : reader->options.reads)
      for (const size_t writer : writers[node_of(variable).index])
        if (writer != reader->index && !depends_on(edges, reader->index, writer))
          edges[writer].push_back(reader->index);
  }
}

void Plan::sort(const Graph& graph) {
  const std::vector<std::vector<size_t>> predecessors = edges(graph);
  std::vector<std::vector<size_t>> successors(predecessors.size());
  std::vector<size_t> waiting_for(predecessors.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // In order of addition.
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
    order_.push_back(GraphState::of(graph).nodes[index].get());
    for (const size_t successor : successors[index])
      if (--waiting_for[successor] == 0) ready.push(successor);
  }
  // Operations only refer to older ones, and a read waits for no update that waits for it.
  assert(order_.size() == num_needed && "operations wait for one another");
}

void Plan::summarize() {
  bool reads = false;
  bool alone = false;  // Changes state, or its callable is for one thread at a time.
  for (const Node* const node : order_) {
    if (node->options.changes_state()) ++num_changes_;
    reads |= !node->options.reads.empty();
    alone |= node->options.changes_state() || !node->options.concurrent;
    computes_fed_outputs_ |= std::ranges::any_of(
        fed_, [node](const Output& output) { return output.operation() == node; });
  }
  using crochet::internal::Access;
  access_ = alone ? Access::kExclusive : reads ? Access::kShared : Access::kNone;
  for (auto fetch = fetches_.begin(); fetch != fetches_.end(); ++fetch)
    fetch_slots_.push_back(
        {.slot = fetch->has_value() ? node_of(*fetch).slot(fetch->index()) : Fetch::kNoValue,
         .is_last = std::find(fetch + 1, fetches_.end(), *fetch) == fetches_.end()});
}

void Plan::find_slots() {
  for (const Node* const node : order_)
    slots_.push_back({node->slot(0), node->slot(node->num_outputs)});
  for (const Output& output : fed_)
    slots_.push_back(
        {node_of(output).slot(output.index()), node_of(output).slot(output.index() + 1)});
  std::ranges::sort(slots_, {}, &SlotRange::begin);
  size_t last = 0;
  for (const SlotRange& next : slots_) {
    if (next.begin <= slots_[last].end) {
      slots_[last].end = std::max(slots_[last].end, next.end);
    } else {
      slots_[++last] = next;
    }
  }
  if (!slots_.empty()) slots_.resize(last + 1);
}

}  // namespace crochet::inline v0::local::internal
