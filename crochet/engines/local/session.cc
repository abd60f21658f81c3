// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/session.h"

#include <algorithm>
#include <cassert>

#include "crochet/base/error.h"
#include "crochet/engines/local/run_trace.h"

namespace crochet::local {
namespace {

const Graph::Node& node_of(const Output& output) {
  return static_cast<const Graph::Node&>(*output.operation());
}

const Graph::VariableNode& node_of(const Variable& variable) {
  return static_cast<const Graph::VariableNode&>(*variable.info());
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

// Gives one operation access to the run's values.
class Session::Frame final : public KernelContext {
 public:
  Frame(Session& session, const Graph::Node& node) : session_(session), node_(node) {}

  const Tensor& input(size_t index) const override {
    const Output& output = node_.options.inputs.at(index);
    return session_.values_[node_of(output).index][static_cast<size_t>(output.index())];
  }

  void set_output(size_t index, Tensor value) override {
    Tensor& place = session_.values_[node_.index].at(index);
    // A fed value stays, though its operation runs for another output.
    if (!session_.is_fed(Output(&node_, static_cast<int>(index)))) place = std::move(value);
  }

  Tensor& variable(const Variable& variable) override {
    return session_.owned_[node_of(variable).index];
  }

 private:
  Session& session_;
  const Graph::Node& node_;
};

Session::Session(Graph& graph) : graph_(graph) { follow_graph(); }

Session::~Session() { close(); }

void Session::check_open(const char* what) const {
  if (closed_) throw FailedPreconditionError("{} on a closed session", what);
}

void Session::follow_graph() {
  for (size_t index = values_.size(); index < graph_.nodes().size(); ++index)
    values_.emplace_back(static_cast<size_t>(graph_.nodes()[index]->num_outputs));
  for (size_t index = owned_.size(); index < graph_.variable_nodes().size(); ++index)
    owned_.push_back(graph_.variable_nodes()[index]->initial);
}

bool Session::is_fed(const Output& output) const {
  return std::ranges::find(fed_, output) != fed_.end();
}

const Plan& Session::plan_for(std::span<const Output> fetches, std::span<const Output> fed) {
  for (const Plan& plan : plans_)
    if (plan.matches(fetches, fed)) return plan;
  return plans_.emplace_back(graph_, fetches, fed);
}

void Session::run_into(std::span<const Output> fetches, const Feeds& feeds,
                       std::span<Tensor> results, const RunOptions& options,
                       RunMetadata* metadata) {
  assert(fetches.size() == results.size());
  RunTrace trace(options, metadata);
  const RunToken::Holder holder(token_, "run");
  check_open("run");
  follow_graph();
  fed_.clear();
  for (const auto& [output, value] : feeds) fed_.push_back(output);
  const Plan& plan = plan_for(fetches, fed_);

  // Values must not outlive the run: a held tensor would cost the next update a copy.
  struct Cleaner {
    Session& session;
    const Plan& plan;
    const Feeds& feeds;
    ~Cleaner() {
      for (const Graph::Node* const node : plan.order())
        std::ranges::fill(session.values_[node->index], Tensor());
      for (const auto& [output, value] : feeds)
        std::ranges::fill(session.values_[node_of(output).index], Tensor());
    }
  };
  const Cleaner cleaner{*this, plan, feeds};
  for (const auto& [output, value] : feeds)
    values_[node_of(output).index][static_cast<size_t>(output.index())] = value;
  for (const Graph::Node* const node : plan.order()) {
    trace.begin(*node);
    execute(*node);
    trace.end(*node, values_[node->index]);
  }
  for (size_t i = 0; i < fetches.size(); ++i)
    results[i] = fetches[i].has_value()
                     ? values_[node_of(fetches[i]).index][static_cast<size_t>(fetches[i].index())]
                     : Tensor();
}

void Session::execute(const Graph::Node& node) {
  if (!node.options.kernel) return;
  Frame frame(*this, node);
  if (!node.options.changes_borrowed) return node.options.kernel(frame);
  copier_.drain();
  try {
    node.options.kernel(frame);
  } catch (...) {
    if (!node.options.intact_at_end_of_input || !is_end_of_input(std::current_exception()))
      half_done_ = node.name;
    throw;
  }
}

Snapshot Session::snapshot(std::span<const Variable> variables) {
  const RunToken::Holder holder(token_, "snapshot");
  check_open("snapshot");
  follow_graph();
  if (!half_done_.empty())
    throw FailedPreconditionError(
        "no snapshot: \"{}\" failed while it changed arrays, which may be of half a step",
        half_done_);
  std::vector<NamedTensor> tensors;
  std::vector<BackgroundCopier::Copy> later;
  for (const Variable& variable : variables) {
    const Graph::VariableNode& node = node_of(variable);
    if (node.is_owned()) {
      tensors.push_back({node.name, owned_[node.index]});
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
  const RunToken::Holder holder(token_, "assign");
  check_open("assign");
  follow_graph();
  for (const Assignment& assignment : assignments)
    if (!assignment.shape.is_compatible_with(assignment.variable.shape()))
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
  Tensor value(node.dtype, assignment.shape);
  assignment.fill(value.mutable_bytes());
  owned_[node.index] = std::move(value);
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
  const RunToken::Holder holder(token_, "close");
  closed_ = true;
  copier_.drain();
}

}  // namespace crochet::local
