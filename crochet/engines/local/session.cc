// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/session.h"

#include <algorithm>
#include <cassert>

#include "crochet/base/error.h"

namespace crochet::local {
namespace {

// Throws: InvalidArgumentError for a variable of another graph.
const Graph::VariableNode& checked_node(const Graph& graph, const Variable& variable) {
  if (!variable || variable.info()->graph != &graph)
    throw InvalidArgumentError("\"{}\" is no variable of this graph",
                               variable ? variable.name() : "(none)");
  return node_of(variable);
}

// Where the array is now; it must still be what it was when it was borrowed.
ArrayView checked_view(const Graph::VariableNode& node) {
  ArrayView view = node.array.view();
  if (view.dtype != node.dtype || !view.shape.is_compatible_with(node.shape))
    throw FailedPreconditionError("array \"{}\" was {} {} when it was tracked and is {} {} now",
                                  node.name, node.dtype, node.shape, view.dtype, view.shape);
  return view;
}

}  // namespace

Session::Session(Graph& graph) : graph_(graph) { follow_graph(); }

Session::~Session() { close(); }

void Session::check_open(const char* what) const {
  if (closed_) throw FailedPreconditionError("{} on a closed session", what);
}

void Session::follow_graph() {
  const std::lock_guard lock(growth_);
  for (size_t index = owned_.size(); index < graph_.variable_nodes().size(); ++index)
    owned_.emplace_back(graph_.variable_nodes()[index]->initial);
}

void Session::run_into(std::span<const Output> fetches, const Feeds& feeds,
                       std::span<Tensor> results, const RunOptions& options,
                       RunMetadata* metadata) {
  assert(fetches.size() == results.size());
  RunTrace trace(options, metadata);
  token_.check_not_held("run");
  const std::shared_ptr<const Plan> plan = plans_.find(graph_, fetches, feeds);
  const RunToken::Holder holder(token_, plan->access(), "run");
  check_open("run");
  follow_graph();
  RunFramePool::Lease lease(frames_, graph_.num_places(), *plan);
  lease.frame().feed(feeds);
  execute(*plan, feeds, lease.frame(), trace);
  lease.frame().fetch(*plan, fetches, results);
}

void Session::execute(const Plan& plan, const Feeds& feeds, RunFrame& frame, RunTrace& trace) {
  const bool is_traced = trace.is_on();
  size_t num_changed = 0;
  const Graph::Node* current = nullptr;
  try {
    for (const Graph::Node* const node : plan.order()) {
      current = node;
      if (is_traced) trace.begin(*node);
      call(*node, frame);
      if (is_traced) trace.end(*node, frame.outputs(*node));
      if (node->call.changes_state) ++num_changed;
      if (plan.computes_fed_outputs()) frame.feed_again(feeds);
    }
  } catch (...) {
    if (num_changed > 0 && num_changed < plan.num_changes()) half_done_ = current->name;
    throw;
  }
}

void Session::call(const Graph::Node& node, RunFrame& frame) {
  if (node.call.checks_inputs) node.check_inputs(frame.values());
  if (!node.call.kernel) return;
  KernelContext context(node, frame.values(), node.call.first_place, owned_);
  if (node.call.changes_state) {
    change(node, context);
  } else {
    node.call.kernel(context);
  }
}

void Session::change(const Graph::Node& node, KernelContext& context) {
  if (node.options.changes_borrowed) copier_.drain();
  // What may fail for want of memory comes before anything is changed.
  for (const size_t variable : node.updates) owned_[variable].make_unique();
  for (const size_t variable : node.replaces) owned_[variable].prepare_next();
  try {
    node.call.kernel(context);
  } catch (...) {
    const bool intact =
        !node.options.changes_in_place() ||
        (node.options.intact_at_end_of_input && is_end_of_input(std::current_exception()));
    if (!intact) half_done_ = node.name;
    throw;
  }
  for (const size_t variable : node.replaces) owned_[variable].commit_next();
}

Snapshot Session::snapshot(std::span<const Variable> variables) {
  const RunToken::Holder holder(token_, Access::kShared, "snapshot");
  check_open("snapshot");
  follow_graph();
  if (!half_done_.empty())
    throw FailedPreconditionError(
        "no snapshot: \"{}\" failed in the middle of a step, the state may be of half a step",
        half_done_);
  std::vector<NamedTensor> tensors;
  std::vector<BackgroundCopier::Copy> later;
  for (const Variable& variable : variables) {
    const Graph::VariableNode& node = checked_node(graph_, variable);
    if (node.is_owned()) {
      tensors.push_back({node.name, owned_[node.index].value()});
      continue;
    }
    ArrayView view = checked_view(node);
    Tensor copy(view.dtype, view.shape);
    // What fits into the object itself is copied with it, so it must be there at once.
    const bool in_background =
        graph_.background_copies() && !node.array.resize && copy.num_bytes() > Tensor::kInlineBytes;
    if (!in_background) copy_out(view, copy.mutable_bytes());
    tensors.push_back({node.name, copy});
    if (in_background) later.push_back({std::move(view), std::move(copy)});
  }
  return Snapshot(std::move(tensors), later.empty() ? nullptr : copier_.submit(std::move(later)));
}

void Session::assign(std::span<const Assignment> assignments) {
  const RunToken::Holder holder(token_, Access::kExclusive, "assign");
  check_open("assign");
  follow_graph();
  for (const Assignment& assignment : assignments)
    if (!assignment.shape.is_compatible_with(checked_node(graph_, assignment.variable).shape))
      throw InvalidArgumentError("variable \"{}\" has the shape {}, it was given {}",
                                 assignment.variable.name(), assignment.variable.shape(),
                                 assignment.shape);
  copier_.drain();
  half_done_ = "assign";
  for (const Assignment& assignment : assignments) {
    const Graph::VariableNode& node = node_of(assignment.variable);
    if (node.is_owned()) {
      assign_owned(node, assignment);
    } else {
      assign_borrowed(node, assignment);
    }
  }
  half_done_.clear();
}

void Session::assign_owned(const Graph::VariableNode& node, const Assignment& assignment) {
  VariableMemory& memory = owned_[node.index];
  if (node.dtype == DType::kString) {
    memory.value() = assignment.strings();
    return;
  }
  if (!memory.value().is_shared()) return assignment.fill(memory.value().mutable_bytes());
  memory.prepare_next();
  assignment.fill(memory.next().mutable_bytes());
  memory.commit_next();
}

void Session::assign_borrowed(const Graph::VariableNode& node, const Assignment& assignment) {
  if (node.array.resize) node.array.resize(assignment.shape);
  const ArrayView view = checked_view(node);
  if (view.order == MemoryOrder::kRowMajor) {
    assignment.fill({view.data, view.num_bytes()});
    return;
  }
  Tensor row_major(view.dtype, view.shape);
  assignment.fill(row_major.mutable_bytes());
  copy_in(row_major.bytes(), view);
}

void Session::close() {
  if (closed_) return;
  token_.check_not_held("close");
  closed_ = true;  // Before waiting: no further run gets between.
  const RunToken::Holder holder(token_, Access::kAlone, "close");
  copier_.drain();
}

}  // namespace crochet::local
