// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crochet/engines/local/borrowed_array.h"
#include "crochet/session/graph.h"

namespace crochet::local {

// What an operation's callable sees of the run it is in.
class KernelContext {
 public:
  virtual ~KernelContext() = default;
  virtual const Tensor& input(size_t index) const = 0;
  virtual void set_output(size_t index, Tensor value) = 0;
  // The current value of an owned variable. To change it, the operation must
  // have named it in `updates`.
  virtual Tensor& variable(const Variable& variable) = 0;
};

using Kernel = std::function<void(KernelContext& context)>;

// One operation. Within a run its callable is called at most once.
struct OperationOptions {
  std::string name;
  // Values it is given, in this order.
  std::vector<Output> inputs = {};
  int num_outputs = 0;
  // What must have run before it; a run of this operation runs those too.
  std::vector<Output> control_inputs = {};
  // What must have run before it if it is in the same run; never pulled in.
  std::vector<Output> after = {};
  // Owned variables it reads; updated by others only after it, unless it depends on them.
  std::vector<Variable> reads = {};
  // Owned variables it changes.
  std::vector<Variable> updates = {};
  // True if it changes borrowed arrays: it waits until a snapshot has copied them.
  bool changes_borrowed = false;
  // True if its OutOfRangeError or StopIteration mean that it has changed nothing, so that
  // the state may still be saved.
  bool intact_at_end_of_input = false;
  Kernel kernel = {};  // Empty: it only groups its control inputs.
};

// A graph of C++ callables: the embedded default engine. It computes nothing
// itself. In a run, operations come in the order of their dependencies and,
// where those leave a choice, in the order they were added.
//
// Built by one thread; running sessions only read it. Must outlive its sessions.
class Graph final : public crochet::Graph {
 public:
  Graph();
  ~Graph() override;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // All that extends the graph throws AlreadyExistsError for a name that is
  // taken, InvalidArgumentError for an empty one, FailedPreconditionError once it is finalized.

  // Throws besides: InvalidArgumentError for outputs and variables of another graph,
  // inputs without a value, and borrowed arrays among those it reads or updates.
  Operation add(OperationOptions options);
  // An operation that computes one value, unset if the callable says so.
  Output value(std::string name, std::function<Tensor()> compute, std::vector<Output> after = {});

  // A variable of the engine's own, in every session a new one of value `initial`.
  Variable variable(std::string name, Tensor initial);
  // An array of the user's, shared by all sessions.
  Variable borrow(std::string name, BorrowedArray array);

  // Makes the step counter "global_step": int64, 0.
  Variable create_global_step();
  // An operation that adds 1 to it, after `control_inputs`.
  Operation increment_global_step(std::vector<Output> control_inputs);

  // If set, a snapshot copies borrowed arrays of fixed shape in the background,
  // and operations that change borrowed arrays wait for it. Only for graphs in
  // which nothing else changes them.
  void set_background_copies(bool on) { background_copies_ = on; }
  bool background_copies() const { return background_copies_; }

  // Takes no target but "", and no settings.
  std::unique_ptr<Session> new_session(const std::string& target,
                                       const SessionConfig& config = {}) override;
  const OperationInfo* find_operation(std::string_view name) const override;
  std::vector<std::string> operation_names() const override;
  std::vector<crochet::Variable> variables() const override;
  Output global_step() const override {
    return global_step_ ? global_step_ : crochet::Graph::global_step();
  }
  void add_global_step() override { create_global_step(); }
  Operation add_global_step_increment(int64_t increment,
                                      std::vector<Output> control_inputs) override;

  // What sessions run; the index in the vector is the order of adding.
  struct Node : OperationInfo {
    size_t index = 0;
    OperationOptions options;
  };
  struct VariableNode : VariableInfo {
    size_t index = 0;
    Tensor initial;       // Set if owned.
    BorrowedArray array;  // Set if borrowed.

    bool is_owned() const { return initial.is_set(); }
  };
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<VariableNode>>& variable_nodes() const { return variables_; }

 private:
  void check_edges(const OperationOptions& options) const;
  VariableNode& add_variable(std::string name, DType dtype, Shape shape);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string, Node*, std::less<>> nodes_by_name_;
  std::vector<std::unique_ptr<VariableNode>> variables_;
  Output global_step_;
  Variable global_step_variable_;
  bool background_copies_ = false;
};

}  // namespace crochet::local
