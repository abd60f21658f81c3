// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crochet/engines/local/borrowed_array.h"
#include "crochet/engines/local/op_input.h"
#include "crochet/engines/local/operation_options.h"
#include "crochet/engines/local/typed_operation.h"
#include "crochet/session/graph.h"

namespace crochet::local {

// A graph of C++ callables: the embedded default engine. It computes nothing
// itself.
//
//   local::Graph graph;
//   const auto x = graph.placeholder<float>("x", {-1, 64});
//   const auto w = graph.variable("w", Tensor::zeros<float>({64}));
//   const auto gradient = graph.op("gradient", {x, w},
//       [](ConstMatrix x, ConstVector<float> w) { ... return std::tuple{dw, loss}; });
//   const auto apply = graph.op("apply", {gradient[0], update(w)},
//       [](ConstVector<float> dw, Vector<float> w) { w -= 0.1f * dw; });
//   const auto train = graph.group("train", {apply, graph.increment_global_step()});
//   graph.name("loss", gradient[1]);
//
// A run evaluates what its fetches need, each operation at most once, one after the other, in an
// order that depends on nothing but the graph and the set of fetches and feeds:
//
// 1. An operation comes behind those whose values it takes, its control inputs, and those of
//    `after` that are in the run.
// 2. Of two operations of which one changes a variable that the other reads, the reader comes
//    first, unless by rule 1 or an earlier use of this one the reader depends on the other.
// 3. Where this leaves a choice, the operation that was added first comes first.
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

  // A value that is fed, of this type and a shape that may have unknown sizes. Runs that need it
  // and are not given it, or one that is different, throw InvalidArgumentError.
  template <Element T>
  Output placeholder(std::string name, Shape shape) {
    return placeholder(std::move(name), dtype_of<T>, std::move(shape));
  }
  Output placeholder(std::string name, DType dtype, Shape shape);

  // A variable of the engine's own, in every session a new one of value `initial`.
  OwnedVariable variable(std::string name, Tensor initial);
  // An array of the user's, shared by all sessions. Operations that change it capture it,
  // and say so by OpOptions::changes_borrowed. Tracker(graph, "") makes arrays of most things.
  Variable borrow(std::string name, BorrowedArray array);
  // An object that is saved and restored with the variables; shared by all sessions.
  void saveable(std::string name, std::shared_ptr<Saveable> object);
  // The same of one that outlives the graph.
  void saveable(std::string name, Saveable& object);

  // An operation that calls `callable` with the inputs: outputs, variables to read, update(v),
  // replace(v). Its parameters' types say what the inputs must be: see parameter.h. What it returns
  // are the outputs: none of void, one of a value (see to_tensor.h), name:0, name:1, ... of
  // a tuple; an empty optional is an unset output. Any other exception than those
  // below passes through the run unchanged.
  //
  // Throws: InvalidArgumentError if number, types or shapes of inputs and parameters
  // do not go together, now as far as they are known, else in the run; what is wrong for any
  // input does not compile.
  template <size_t kInputs, typename Callable>
  Operation op(std::string name, const OpInput (&inputs)[kInputs], Callable callable,
               const OpOptions& options = {}) {
    static_assert(typed::KernelOf<Callable>::takes(kInputs),
                  "the callable must have a parameter for each input, and two for replace()");
    return add(
        typed::typed_operation(*this, std::move(name), inputs, std::move(callable), options));
  }
  // The same of a number of inputs that is known at run time.
  template <std::same_as<std::vector<OpInput>> Inputs, typename Callable>
  Operation op(std::string name, const Inputs& inputs, Callable callable,
               const OpOptions& options = {}) {
    return add(
        typed::typed_operation(*this, std::move(name), inputs, std::move(callable), options));
  }
  // The same without inputs, which may be written as {}.
  struct NoInputs {};
  template <typename Callable>
  Operation op(std::string name, NoInputs, Callable callable, const OpOptions& options = {}) {
    static_assert(typed::KernelOf<Callable>::takes(0),
                  "the callable has parameters, but no inputs");
    return add(typed::typed_operation(*this, std::move(name), {}, std::move(callable), options));
  }
  template <typename Callable>
  Operation op(std::string name, Callable callable, const OpOptions& options = {}) {
    return op(std::move(name), NoInputs(), std::move(callable), options);
  }

  // An operation that runs these and does nothing itself.
  Operation group(std::string name, std::vector<Output> operations);
  // Gives a value, or a variable's, a second name under which it is fetched and fed: that
  // of an operation that hands it on.
  Output name(std::string name, const OpInput& value);

  // Makes the step counter "global_step": int64, 0.
  OwnedVariable create_global_step();
  // An operation that adds 1 to it, after `control_inputs`. Makes the counter if there is none.
  Operation increment_global_step(std::vector<Output> control_inputs = {});

  // What typed operations are made of, for those who build operations by other rules. Throws
  // besides: InvalidArgumentError for outputs and variables of another graph, inputs without a
  // value or of other specs, and borrowed arrays among those it reads, updates or replaces.
  Operation add(OperationOptions options);
  // An operation that computes one value, unset if the callable says so.
  Output value(std::string name, std::function<Tensor()> compute, std::vector<Output> after = {});

  // If set, a snapshot copies borrowed arrays of fixed shape in the background,
  // and operations that change borrowed arrays wait for it. Only for graphs in
  // which nothing else changes them.
  void set_background_copies(bool on) { background_copies_ = on; }
  bool background_copies() const { return background_copies_; }
  // How many threads copy arrays and variables for snapshots, the calling one among them; 0, the
  // default: one a core, at most 4. For sessions that are made later.
  // Throws: InvalidArgumentError for less.
  void set_copy_threads(int num_threads);
  int copy_threads() const { return copy_threads_; }
  // If set, Snapshot::verify() compares all values with checksums that were taken at the boundary
  // between two steps, and so finds arrays that were changed while they were copied. For debugging:
  // each snapshot takes the time of a checksum of the state. For snapshots that are made later.
  void set_checks_snapshots(bool on) { checks_snapshots_ = on; }
  bool checks_snapshots() const { return checks_snapshots_; }

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

  // What sessions run; the index in the vector is the order of adding. The values of a run lie one
  // behind the other: each output has a place.
  struct Node : OperationInfo {
    // What every call of it needs, in one line of the cache.
    struct alignas(64) Call {
      Kernel kernel;
      size_t first_place = 0;  // Of its outputs.
      bool checks_inputs = false;
      bool changes_state = false;
    };

    Call call;
    size_t index = 0;
    OperationOptions options;  // Without the kernel.
    bool is_placeholder = false;
    std::vector<size_t> input_places;  // By input.
    std::vector<size_t> updates;       // Variables, by their index.
    std::vector<size_t> replaces;

    size_t place(int output) const { return call.first_place + static_cast<size_t>(output); }
    // What the output must be; null if nothing is known.
    const TensorSpec* output_spec(int output) const;
    // Throws: InvalidArgumentError if one of the run's values is not the input it must be.
    void check_inputs(std::span<const Tensor> values) const;
  };
  struct VariableNode : VariableInfo {
    size_t index = 0;
    Tensor initial;       // Set if owned.
    BorrowedArray array;  // Set if borrowed.

    bool is_owned() const { return initial.is_set(); }
  };
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  const std::vector<std::unique_ptr<VariableNode>>& variable_nodes() const { return variables_; }
  size_t num_places() const { return num_places_; }

 private:
  void check_outputs(const OperationOptions& options) const;
  void check_inputs(const OperationOptions& options) const;
  void check_variables(const OperationOptions& options) const;
  Node& add_node(OperationOptions options);
  const VariableNode* find_variable(std::string_view name) const;
  VariableNode& add_variable(std::string name, DType dtype, Shape shape);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string, Node*, std::less<>> nodes_by_name_;
  std::vector<std::unique_ptr<VariableNode>> variables_;
  std::unordered_map<std::string_view, const VariableNode*> variables_by_name_;
  size_t num_places_ = 0;
  Output global_step_;
  OwnedVariable global_step_variable_;
  bool background_copies_ = false;
  int copy_threads_ = 0;
  bool checks_snapshots_ = false;
};

// The node behind a small value of a local graph.
inline const Graph::Node& node_of(const Output& output) {
  return static_cast<const Graph::Node&>(*output.operation());
}
inline const Graph::VariableNode& node_of(const Variable& variable) {
  return static_cast<const Graph::VariableNode&>(*variable.info());
}

}  // namespace crochet::local
