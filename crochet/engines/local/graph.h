// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/engines/local/internal/typed_operation.h"
#include "crochet/engines/local/operation_options.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::local {

namespace internal {
struct GraphState;
struct Node;
struct VariableNode;
}  // namespace internal

// A graph of C++ callables: the built-in default engine. All computation is
// in the callables.
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
// 1. An operation comes after those whose values it takes, its control inputs, and those of
//    `after` that are in the run.
// 2. If one operation changes a variable that another one reads, the reader comes first, unless by
//    rule 1 or an earlier application of this rule the reader depends on the other.
// 3. Otherwise, the operation that was added first comes first.
//
// Built by one thread; running sessions only read it. Must outlive its sessions.
class CROCHET_EXPORT Graph final : public crochet::Graph {
 public:
  Graph();
  ~Graph() override;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // All functions that extend the graph throw AlreadyExistsError for a name that is
  // taken, InvalidArgumentError for an empty one, FailedPreconditionError once it is finalized.

  // A value to be fed, of this type and a shape that may have unknown sizes. A run that needs it
  // and is not fed one, or is fed one of another type or shape, throws InvalidArgumentError.
  template <Element T>
  Output placeholder(std::string name, Shape shape) {
    return placeholder(std::move(name), dtype_of<T>, std::move(shape));
  }
  Output placeholder(std::string name, DType dtype, Shape shape);

  // A variable that the sessions own, each its own one with the initial value `initial`. Its name,
  // unless it is that of an operation, requests its value in a run.
  OwnedVariable variable(std::string name, Tensor initial);
  // An array that the user owns, shared by all sessions. Operations that change it capture it,
  // and must set OpOptions::changes_borrowed. Tracker(graph, "") makes arrays of most types.
  Variable borrow(std::string name, BorrowedArray array);
  // An object that is saved and restored with the variables; shared by all sessions.
  void saveable(std::string name, std::shared_ptr<Saveable> object);
  // The same for an object that outlives the graph.
  void saveable(std::string name, Saveable& object);

  // An operation that calls `callable` with the inputs: outputs, variables to read, update(v),
  // replace(v). Its parameters' types determine what the inputs must be: see parameter.h. Its
  // result becomes the outputs: none for void, one for a value (see tensor.h), name:0, name:1,
  // ... for a tuple; an empty optional is an unset output. An exception that the callable throws
  // passes through the run unchanged.
  //
  // Throws: InvalidArgumentError if number, types or shapes of inputs and parameters
  // do not match: now as far as they are known, otherwise in the run. A callable that cannot match
  // any inputs does not compile.
  template <size_t kInputs, typename Callable>
  Operation op(std::string name, const OpInput (&inputs)[kInputs], Callable callable,
               const OpOptions& options = {}) {
    static_assert(internal::KernelOf<Callable>::takes(kInputs),
                  "the callable must have a parameter for each input, and two for replace()");
    return add(
        internal::typed_operation(*this, std::move(name), inputs, std::move(callable), options));
  }
  // The same for a number of inputs that is known only at run time.
  template <std::same_as<std::vector<OpInput>> Inputs, typename Callable>
  Operation op(std::string name, const Inputs& inputs, Callable callable,
               const OpOptions& options = {}) {
    return add(
        internal::typed_operation(*this, std::move(name), inputs, std::move(callable), options));
  }
  // The same without inputs, which may be written as {}.
  struct NoInputs {};
  template <typename Callable>
  Operation op(std::string name, NoInputs, Callable callable, const OpOptions& options = {}) {
    static_assert(internal::KernelOf<Callable>::takes(0),
                  "the callable has parameters, but no inputs");
    return add(internal::typed_operation(*this, std::move(name), {}, std::move(callable), options));
  }
  template <typename Callable>
  Operation op(std::string name, Callable callable, const OpOptions& options = {}) {
    return op(std::move(name), NoInputs(), std::move(callable), options);
  }

  // An operation that runs these and does nothing itself.
  Operation group(std::string name, std::vector<Output> operations);
  // Gives a value, or a variable's value, a second name under which it is fetched and fed, by
  // an operation that passes it on.
  Output name(std::string name, const OpInput& value);

  // Creates the step counter "global_step": int64, 0.
  OwnedVariable create_global_step();
  // An operation that adds 1 to it, after `control_inputs`. Creates the counter if there is none.
  Operation increment_global_step(std::vector<Output> control_inputs = {});

  // Adds an operation by its options: typed operations are built on it, and other kinds may be.
  // Also throws InvalidArgumentError for outputs and variables of another graph, inputs without a
  // value or of other specs, and borrowed arrays among those it reads, updates or replaces.
  Operation add(OperationOptions options);
  // An operation that computes one value, which the callable may leave unset.
  Output value(std::string name, std::function<Tensor()> compute, std::vector<Output> after = {});

  // If set, a snapshot copies borrowed arrays of fixed shape in the background,
  // and operations that change borrowed arrays wait for it. Requires:
  // nothing else changes them. Arrays with a WriteBarrier are guarded by it instead, and operations
  // do not wait for them.
  void set_background_copies(bool on);
  bool background_copies() const;
  // Sets how many threads copy arrays and variables for snapshots, including the calling one; 0,
  // the default: one per core, at most 4. Applies to sessions that are created later. Throws:
  // InvalidArgumentError for a negative number.
  void set_copy_threads(int num_threads);
  // If set, Snapshot::verify() compares all values with checksums that were taken at the boundary
  // between two steps, to detect arrays that were changed while they were copied, and savers take
  // nothing as unchanged without comparing its elements. For debugging:
  // each snapshot computes a checksum of the state. Applies to snapshots that are taken later.
  void set_checks_snapshots(bool on);
  bool checks_snapshots() const;

  // Throws: InvalidArgumentError for a target other than "", and for any settings.
  std::unique_ptr<Session> new_session(const std::string& target = {},
                                       const SessionConfig& config = {}) override;
  const OperationInfo* find_operation(std::string_view name) const override;
  std::vector<std::string> operation_names() const override;
  std::vector<crochet::Variable> variables() const override;
  Shape present_shape(const crochet::Variable& variable) const override;
  // Also the name of a variable that the sessions own, which requests its value.
  Output requested(std::string_view name) const override;
  Output global_step() const override {
    return global_step_ ? global_step_ : crochet::Graph::global_step();
  }
  void add_global_step() override { create_global_step(); }
  Operation add_global_step_increment(int64_t increment,
                                      std::vector<Output> control_inputs) override;

 private:
  friend struct internal::GraphState;

  void check_outputs(const OperationOptions& options) const;
  void check_inputs(const OperationOptions& options) const;
  void check_variables(const OperationOptions& options) const;
  internal::Node& add_node(OperationOptions options, bool is_named = true);
  // An operation that gives the value.
  OperationOptions passing_on(std::string name, const OpInput& value);
  const internal::VariableNode* find_variable(std::string_view name) const;
  internal::VariableNode& add_variable(std::string name, DType dtype, Shape shape);

  const std::unique_ptr<internal::GraphState> state_;
  Output global_step_;
  OwnedVariable global_step_variable_;
};

}  // namespace crochet::inline v0::local
