// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/engines/tensorflow/attribute.h"
#include "crochet/engines/tensorflow/function.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/op_input.h"
#include "crochet/tensor/to_tensor.h"

struct TF_Output;

namespace crochet::tensorflow {

// What may be said of an operation besides its inputs and attributes.
struct OpOptions {
  // What must have run before it; a run of this operation runs those too.
  std::vector<Output> control_inputs = {};
  // Where it runs: "/device:CPU:0", "/job:ps/task:0". Empty: where TensorFlow puts it.
  std::string device = {};
  // It runs where this operation does.
  Output colocate_with = {};
};

struct VariableOptions {
  // GraphBuilder::gradient_descent changes it unless it is told which ones to change.
  bool trainable = true;
  // If set, it belongs to its session alone, is in no checkpoint, and is initialised by
  // the local init operation.
  bool local = false;
  // Of all its values; sizes that may change are unknown. Unset: the initial value's.
  std::optional<Shape> shape = {};
  std::string device = {};
};

class GraphBuilder;

// Adds a function's operations by `body`, and returns its outputs: one, a list of several, or
// an empty list.
using FunctionBody = std::function<OpInput(GraphBuilder& body, const std::vector<Output>& inputs)>;

struct GradientDescentOptions {
  double learning_rate = 0;
  // If set, used instead: a scalar of the variables' type, such as a placeholder.
  Output learning_rate_value = {};
  // Empty: all that are trainable.
  std::vector<Variable> variables = {};
};

// Adds operations to a graph that TensorFlow runs: to an empty one, to one that was imported, or,
// in a hook's begin(), to that of the run.
//
//   tensorflow::Graph graph;
//   tensorflow::GraphBuilder build(graph);
//   const auto x = build.placeholder<float>("x", {-1, 64});
//   const auto y = build.placeholder<float>("y", {-1, 1});
//   const auto w = build.variable("w", Tensor::zeros<float>({64, 1}));
//   const auto xw = build.op("MatMul", "xw", {x, w});
//   const auto error = build.op("SquaredDifference", "error", {xw, y});
//   const auto axes = build.constant("axes", std::vector{0, 1});
//   const auto loss = build.op("Mean", "loss", {error, axes});
//   const auto apply = build.gradient_descent("apply", loss, {.learning_rate = 0.1});
//   get_or_create_global_step(graph);
//   const auto train_op = increment_global_step(graph, 1, {apply});
//
// The types of operations, their inputs and attributes are TensorFlow's, all that are registered
// in this process: https://www.tensorflow.org/api_docs/python/tf/raw_ops describes them. An
// attribute that follows from the inputs, such as "T", need not be given. There are no scopes:
// names and devices are written out, "hidden/weights".
//
// All that extends the graph throws AlreadyExistsError for a name that is taken,
// InvalidArgumentError for one that is illegal or begins with "crochet/", and
// FailedPreconditionError once the graph is finalized. An operation that is refused is not in the
// graph.
//
// It should all happen before the first run: each extension delays the next one. For one thread,
// while no session runs.
class GraphBuilder {
 public:
  // Not owned; outlives this. Throws: InvalidArgumentError for the graph of another engine.
  explicit GraphBuilder(crochet::Graph& graph);

  // An operation of any type but TensorFlow's internal ones ("_Send").
  //
  // Three things are not as TensorFlow has them: a VarHandleOp without a shared_name has its own
  // name, as two without one would be the same variable; an AssignVariableOp to a variable of known
  // shape has validate_shape set; and what adds to the global step comes after the read that
  // global_step() is. An attribute that the type does not have is an error, not ignored.
  //
  // Functions that it is given are compared with its inputs and outputs; where "Tout" is not given,
  // it is what they give.
  //
  // Throws: NotFoundError for an unknown type; InvalidArgumentError for what TensorFlow does not
  // take, such as a wrong number or type of inputs, a missing attribute, shapes that do not go
  // together, and for illegal devices, outputs and functions of another graph, and functions of
  // other types. Messages name the operation.
  Operation op(const std::string& type, std::string name, const std::vector<OpInput>& inputs = {},
               const Attributes& attributes = {}, const OpOptions& options = {});

  // Makes a function of what `body` adds, for operations of this graph and for bodies of later
  // functions:
  //
  //   const auto half = build.function("half", {{"x", DType::kFloat}}, [](auto& body, auto& x) {
  //     return body.op("Mul", "y", {x[0], body.constant("half", 0.5f)});
  //   });
  //   const auto same =
  //       build.function("same", {{"x", DType::kFloat}}, [](auto&, auto& x) { return x[0]; });
  //   build.op("If", "halved", {is_large, {y}}, {{"then_branch", half}, {"else_branch", same}});
  //
  // The body has its own names and sees nothing of the graph but its functions: values, and handles
  // of variables, are inputs. A call runs all operations of the body that have
  // effects, whether or not an output needs them; their order is that of values and control inputs.
  // Outputs in the body, and its builder, are gone once this returns.
  //
  // Throws besides: AlreadyExistsError if a function, or a type of operations, has the name;
  // InvalidArgumentError for outputs that are not of the body, and for variables, placeholders and
  // summaries in it; what `body` throws. Then nothing is added.
  Function function(const std::string& name, const std::vector<FunctionInput>& inputs,
                    const FunctionBody& body);
  // The function of this name, of an imported graph, too. Throws: NotFoundError.
  Function function(const std::string& name);

  // A value that is fed. Runs that need it and are not given it, or one that is different, throw
  // InvalidArgumentError.
  template <Element T>
  Output placeholder(std::string name, Shape shape) {
    return placeholder(std::move(name), dtype_of<T>, std::move(shape));
  }
  // Without a shape: of any.
  Output placeholder(std::string name, DType dtype, std::optional<Shape> shape = {});

  // A value that never changes: a number, a string, a std::vector of one of them, a Tensor.
  // Throws besides: InvalidArgumentError for one of 2 GiB, which no graph can hold.
  template <typename T>
  Output constant(std::string name, T&& value, const OpOptions& options = {}) {
    return constant_of(std::move(name), to_tensor(std::forward<T>(value)), options);
  }

  // A resource variable: of `initial` once it is initialised, which Scaffold sees to.
  //
  // It is the operation "<name>", with "<name>/initial_value" for a tensor, "<name>/Assign" and
  // "<name>/Read/ReadVariableOp". In checkpoints it has this name.
  // Throws besides: InvalidArgumentError if `initial` does not have the shape that is
  // given; UnimplementedError for an unknown rank, and types without values.
  Variable variable(const std::string& name, const Tensor& initial,
                    const VariableOptions& options = {});
  // The same of a value that is computed, such as random numbers.
  Variable variable(const std::string& name, const OpInput& initial,
                    const VariableOptions& options = {});

  // What it is in a run that changes it may be the value before or after the change, unless the
  // change depends on it. Throws (as the next): InvalidArgumentError for variables of other
  // engines, and for those in parts.
  static Output value(const Variable& variable);
  // What operations take that change it: "AssignAddVariableOp", {handle(v), delta}.
  static Output handle(const Variable& variable);
  // Assigns the initial value.
  static Operation initializer(const Variable& variable);

  // An operation that runs these and does nothing itself.
  Operation group(std::string name, const std::vector<Output>& operations);
  // Gives a value a second name.
  Output name(std::string name, const OpInput& value);

  // Summaries, in the graph's collection "summaries": SummarySaverHook fetches and writes them,
  // under these names.
  Output scalar_summary(std::string name, const OpInput& value);
  Output histogram_summary(std::string name, const OpInput& values);

  // The derivatives of the sum of all elements of `ys`, of real or complex types, by each of `xs`,
  // values or variables: an output with the shape of x, or an unset one if no y depends on x.
  // Their operations have names that begin with "<name>/".
  //
  // They are those that TensorFlow's C++ has: about a third of Python's; there is none for If, Case
  // and While. Through a call (PartitionedCall) they are found in the run, where what has none is
  // an error. The graph is copied to try them first, so that a failure leaves nothing behind.
  // Throws besides: UnimplementedError, naming the operations, if one between xs and ys has no
  // gradient there, or belongs to a loop; InvalidArgumentError for other types, other graphs'
  // outputs, and lists among `ys` and `xs`.
  std::vector<Output> gradients(const std::string& name, const std::vector<OpInput>& ys,
                                const std::vector<OpInput>& xs);
  // An operation that subtracts from each variable its derivative of `loss` times the learning
  // rate. Variables that the loss does not depend on stay as they are.
  // Throws besides: InvalidArgumentError if it depends on none; UnimplementedError for reference
  // variables.
  Operation gradient_descent(const std::string& name, const OpInput& loss,
                             const GradientDescentOptions& options);

 private:
  Output constant_of(std::string name, const Tensor& value, const OpOptions& options);
  Output summary(const char* type, const char* tag, std::string name, const OpInput& value);
  Variable add_variable(const std::string& name, Output initial, const VariableOptions& options);
  std::vector<Output> add_gradients(const std::string& name, const std::vector<TF_Output>& ys,
                                    const std::vector<TF_Output>& xs);
  // Throws: InvalidArgumentError unless it is a value of this graph that has derivatives; `what` is
  // its place.
  TF_Output derivable(const std::string& what, const OpInput& input) const;
  TF_Output handle_place(const std::string& name, const Variable& variable) const;
  // Throws: as all that extends the graph.
  void check_can_add(std::string_view name) const;
  // Throws besides: AlreadyExistsError if a name begins with this one and "/".
  void check_free_prefix(const std::string& name) const;
  // Throws: AlreadyExistsError if something in checkpoints has this name.
  void check_free_in_checkpoints(const std::string& name) const;
  void check_can_add_variable(const std::string& name) const;
  void check_can_add_function(const std::string& name,
                              const std::vector<FunctionInput>& inputs) const;
  // Throws: InvalidArgumentError for unset functions and those of other graphs.
  void check_functions(const std::string& name, const Attributes& attributes) const;
  // Throws: InvalidArgumentError for what makes no sense in a function, if this is one.
  void check_may_be_in_function(const std::string& type, const std::string& name) const;
  // Throws: InvalidArgumentError for outputs of other graphs.
  void check_options(const std::string& name, const OpOptions& options) const;
  // Throws: InvalidArgumentError unless it is a value of this graph; `what` is its place.
  TF_Output checked(const Output& output, std::string_view what) const;

  friend class Graph;

  Graph& graph_;
};

}  // namespace crochet::tensorflow
