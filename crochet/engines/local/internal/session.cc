// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/session.h"

#include <algorithm>
#include <cassert>

#include "crochet/base/error.h"
#include "crochet/base/internal/prefetch.h"
#include "crochet/copies/internal/checked_copies.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::local::internal {
namespace {

void prefetch_node(const Variable& variable) {
  crochet::internal::prefetch(static_cast<const VariableNode*>(variable.info()));
}

// Throws: InvalidArgumentError for a variable of another graph.
const VariableNode& checked_node(const Graph& graph, const Variable& variable) {
  if (!variable || variable.info()->graph != &graph)
    throw InvalidArgumentError(fmt::format("\"{}\" is not a variable of this graph",
                                           variable ? variable.name() : "(none)"));
  return node_of(variable);
}

// The array as it is now. Throws: FailedPreconditionError if its type or shape has changed.
ArrayView checked_view(const VariableNode& node) {
  ArrayView view = node.array.view();
  if (view.dtype != node.dtype || !view.shape.is_compatible_with(node.shape))
    throw FailedPreconditionError(
        fmt::format("array \"{}\" was {} {} when it was tracked and is {} {} now", node.name,
                    node.dtype, node.shape, view.dtype, view.shape));
  return view;
}

// The whole tensor as a vector of bytes, for reading only.
ArrayView bytes_of(const Tensor& tensor) {
  const std::span<const std::byte> bytes = tensor.bytes();
  return {.dtype = DType::kUint8,
          .shape = {static_cast<int64_t>(bytes.size())},
          .data = const_cast<std::byte*>(bytes.data())};
}

}  // namespace

Session::Session(Graph& graph)
    : graph_(graph), state_(GraphState::of(graph)), copier_(state_.copier) {
  follow_graph();
}

Session::~Session() { close(); }

void Session::follow_graph() {
  if (num_followed_.load(std::memory_order_acquire) == state_.variables.size()) return;
  const std::lock_guard lock(growth_);
  for (size_t index = owned_.size(); index < state_.variables.size(); ++index)
    owned_.emplace_back(state_.variables[index]->initial, spare_);
  num_followed_.store(owned_.size(), std::memory_order_release);
}

void Session::run_into(std::span<const Output> fetches, const Feeds& feeds,
                       std::span<Tensor> results, const RunOptions& options,
                       RunMetadata* metadata) {
  assert(fetches.size() == results.size());
  state_.barriers.settle();
  RunTrace trace(options, metadata);
  gate_.check_outside("run");
  // What a loop repeats needs no plan and no frame to be looked up. Other runs need not pass the
  // gate in vain.
  if (!fetches.empty() &&
      fetches.front().operation() == repeated_operation_.load(std::memory_order_relaxed)) {
    const crochet::internal::AccessGate::Pass pass(gate_, crochet::internal::Access::kExclusive,
                                                   crochet::internal::AccessGate::Pass::IfFree());
    if (pass.is_inside() && repeated_->runs(fetches, feeds))
      return run_inside(*repeated_, feeds, results, trace);
  }
  RunFramePool::Lease frame(frames_, graph_, fetches, feeds);
  const crochet::internal::AccessGate::Pass pass(gate_, frame->plan().access(), "run");
  run_inside(*frame, feeds, results, trace);
  if (frame->plan().access() != crochet::internal::Access::kExclusive || fetches.empty()) return;
  repeated_->share_plan(*frame);
  repeated_operation_.store(fetches.front().operation(), std::memory_order_relaxed);
}

void Session::run_inside(RunFrame& frame, const Feeds& feeds, std::span<Tensor> results,
                         RunTrace& trace) {
  follow_graph();
  const RunValues values(frame, graph_);
  if (!feeds.empty()) frame.feed(feeds);
  execute(feeds, frame, trace);
  frame.fetch(results);
}

void Session::execute(const Feeds& feeds, RunFrame& frame, RunTrace& trace) {
  const Plan& plan = frame.plan();
  const bool is_traced = trace.is_on();
  size_t num_changed = 0;
  const Node* current = nullptr;
  try {
    for (const Node* const node : plan.order()) {
      current = node;
      if (is_traced) trace.begin(*node);
      call(*node, frame);
      if (is_traced) trace.end(*node, frame.outputs(*node));
      if (node->call.changes_state) ++num_changed;
      if (plan.computes_fed_outputs()) frame.feed_again(feeds);
    }
  } catch (...) {
    if (num_changed > 0 && num_changed < plan.num_changes()) half_done_ = current->name;
    if (plan.access() == crochet::internal::Access::kExclusive)
      changed_by_error_ = num_changed > 0 || !half_done_.empty();
    throw;
  }
}

void Session::call(const Node& node, RunFrame& frame) {
  if (node.call.checks_inputs) node.check_inputs(frame.values());
  if (!node.call.kernel) return;
  KernelContext context(node, frame.values(), node.call.first_slot, owned_);
  if (node.call.changes_state) {
    change(node, context);
  } else {
    node.call.kernel(context);
  }
}

void Session::change(const Node& node, KernelContext& context) {
  if (node.options.changes_borrowed) (*copier_)->drain();
  // Allocations that may fail come before any change.
  make_unique(node);
  for (const size_t variable : node.replaces) owned_[variable].prepare_next();
  try {
    node.call.kernel(context);
  } catch (...) {
    const bool intact =
        !node.options.changes_in_place() || node.options.intact_on_error ||
        (node.options.intact_at_end_of_input && is_end_of_input(std::current_exception()));
    if (!intact) half_done_ = node.name;
    throw;
  }
  for (const size_t variable : node.replaces) owned_[variable].commit_next();
}

void Session::make_unique(const Node& node) {
  const auto is_held = [this](size_t variable) { return owned_[variable].value().is_shared(); };
  if (std::ranges::none_of(node.updates, is_held)) return;
  update_copies_.clear();
  copied_variables_.clear();
  for (const size_t variable : node.updates) {
    VariableMemory& memory = owned_[variable];
    if (memory.value().dtype() == DType::kString) {
      memory.make_unique();
      continue;
    }
    if (!memory.prepare_copy()) continue;
    copied_variables_.push_back(&memory);
    const ArrayView bytes = bytes_of(memory.value());
    update_copies_.push_back({.from = bytes, .to = memory.next().writable_bytes().data()});
  }
  if (update_copies_.empty()) return;
  (*copier_)->copy(update_copies_);
  for (VariableMemory* const memory : copied_variables_) memory->commit_copy();
}

// Owned variables are shared, borrowed arrays are copied.
Snapshot Session::snapshot(std::span<const Variable> variables) {
  const crochet::internal::AccessGate::Pass pass(gate_, crochet::internal::Access::kShared,
                                                 "snapshot");
  follow_graph();
  if (!half_done_.empty())
    throw FailedPreconditionError(fmt::format(
        "no snapshot: \"{}\" failed in the middle of a step: the state may hold half a step",
        half_done_));
  state_.barriers.begin_snapshot();
  const auto checks =
      state_.checks_snapshots ? std::make_shared<crochet::internal::CheckedCopies>() : nullptr;
  std::vector<NamedTensor> tensors;
  tensors.reserve(variables.size());
  Copies copies;
  const auto ask = [](const Variable& variable) { prefetch_node(variable); };
  crochet::internal::for_each_prefetched(variables, ask, [&](const Variable& variable) {
    const VariableNode& node = checked_node(graph_, variable);
    if (node.is_owned()) {
      tensors.push_back({node.name, owned_[node.index].value()});
      if (checks) checks->expect(node.name, tensors.back().tensor);
    } else {
      const ArrayView view = checked_view(node);
      tensors.push_back({node.name, copy_of(node, view, copies)});
      if (checks)
        checks->expect(node.name, view, tensors.back().tensor,
                       crochet::internal::is_guarded(node.array, view)
                           ? crochet::internal::CheckedCopies::Rule::kAnnounced
                           : crochet::internal::CheckedCopies::Rule::kWithinAStep);
    }
  });
  (*copier_)->copy(copies.now);
  Snapshot snapshot(std::move(tensors), (*copier_)->copy_in_background(std::move(copies.later),
                                                                       std::move(copies.holders)));
  for (auto& pending : state_.barriers.guard(std::move(copies.guarded), copier_)) {
    if (checks) checks->wait_for(pending);
    snapshot.add(std::move(pending));
  }
  if (checks) snapshot.distrust();
  snapshot.add(checks);
  return snapshot;
}

Tensor Session::copy_of(const VariableNode& node, const ArrayView& view, Copies& copies) {
  // Inline elements are copied with the Tensor object, so they must be copied now.
  if (Tensor::num_bytes(view.dtype, view.shape) <= Tensor::kInlineBytes) {
    Tensor copy(view.dtype, view.shape);
    copy_out(view, copy.writable_bytes());
    return copy;
  }
  crochet::internal::CopyMemory::Lent lent = lend_copy_memory(node, view);
  if (crochet::internal::is_guarded(node.array, view)) {
    copies.guarded[node.array.barrier].push_back(
        crochet::internal::guarded_array(node.array, view, lent.data, lent.tensor));
  } else if (state_.background_copies && !node.array.resize) {
    copies.later.push_back({view, lent.data});
    copies.holders.push_back(lent.tensor);
  } else {
    copies.now.push_back({view, lent.data});
  }
  return std::move(lent.tensor);
}

crochet::internal::CopyMemory::Lent Session::lend_copy_memory(const VariableNode& node,
                                                              const ArrayView& view) {
  const std::lock_guard lock(copy_memory_mutex_);
  if (copy_memory_.size() <= node.index) copy_memory_.resize(state_.variables.size());
  return copy_memory_[node.index].lend(view.dtype, view.shape);
}

void Session::assign(std::span<const Assignment> assignments) {
  const crochet::internal::AccessGate::Pass pass(gate_, crochet::internal::Access::kExclusive,
                                                 "assign");
  follow_graph();
  const auto ask = [](const Assignment& assignment) { prefetch_node(assignment.variable); };
  crochet::internal::for_each_prefetched(assignments, ask, [&](const Assignment& assignment) {
    if (!assignment.shape.is_compatible_with(checked_node(graph_, assignment.variable).shape))
      throw InvalidArgumentError(fmt::format("variable \"{}\": found shape {}, expected {}",
                                             assignment.variable.name(), assignment.shape,
                                             assignment.variable.shape()));
  });
  (*copier_)->drain();
  state_.barriers.drain();
  half_done_ = "assign";
  crochet::internal::for_each_prefetched(assignments, ask, [&](const Assignment& assignment) {
    const VariableNode& node = node_of(assignment.variable);
    if (node.is_owned()) {
      assign_owned(node, assignment);
    } else {
      assign_borrowed(node, assignment);
    }
  });
  half_done_.clear();
}

void Session::assign_owned(const VariableNode& node, const Assignment& assignment) {
  VariableMemory& memory = owned_[node.index];
  if (node.dtype == DType::kString) {
    memory.value() = assignment.strings();
    return;
  }
  if (node.dtype != DType::kBool && !memory.value().is_shared())
    return assignment.fill(memory.value().writable_bytes());
  memory.prepare_next();
  assignment.fill(memory.next().writable_bytes());
  if (node.dtype == DType::kBool) static_cast<void>(memory.next().flat<bool>());
  memory.commit_next();
}

void Session::assign_borrowed(const VariableNode& node, const Assignment& assignment) {
  if (node.array.resize) node.array.resize(assignment.shape);
  fill_array(checked_view(node), assignment.fill);
}

void Session::close() {
  if (!gate_.close()) return;
  gate_.wait_until_empty();
  (*copier_)->drain();
  state_.barriers.close();
}

}  // namespace crochet::inline v0::local::internal
