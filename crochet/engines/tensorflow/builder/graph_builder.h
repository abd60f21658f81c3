// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/session/output.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::tensorflow {

// An input of an operation: a value, or a list of values if the operation takes a list.
//
//   build.op("MatMul", "product", {images, weights});   // Two values.
//   build.op("Pack", "packed", {{a, b, c}});            // One list of three.
class CROCHET_EXPORT OpInput {
 public:
  OpInput(Output output) : OpInput(output, Variable()) {}
  // The only output of the operation. Throws: InvalidArgumentError if it has none, or several.
  OpInput(const Operation& operation) : OpInput(static_cast<Output>(operation)) {}
  // The variable's value. Throws: as GraphBuilder::value() does.
  OpInput(const Variable& variable);
  // A list. Throws: InvalidArgumentError if it contains a list.
  OpInput(std::initializer_list<OpInput> list);
  OpInput(const std::vector<Output>& list);

  bool is_list() const { return is_list_; }
  const std::vector<Output>& outputs() const { return outputs_; }  // One, unless it is a list.
  // Set if it was constructed from a variable.
  const Variable& variable() const { return variable_; }

 private:
  OpInput(Output output, Variable variable);

  bool is_list_ = false;
  std::vector<Output> outputs_;
  Variable variable_;
};

}  // namespace crochet::inline v0::tensorflow

struct TF_Output;

namespace crochet::inline v0::tensorflow {

// The options of an operation, other than its inputs and attributes.
struct OpOptions {
  // Operations that must run before it; a run of this operation runs those too.
  std::vector<Output> control_inputs = {};
  // Where it runs: "/device:CPU:0", "/job:ps/task:0". Empty: TensorFlow chooses.
  std::string device = {};
  // If set, it runs where this operation does.
  Output colocate_with = {};
};

struct VariableOptions {
  // Whether GraphBuilder::gradient_descent changes it by default.
  bool trainable = true;
  // If true, it belongs to its session, is in no checkpoint, and is initialised by
  // the local init operation.
  bool local = false;
  // The shape of all its values; sizes that may change are unknown. Unset: the initial value's.
  std::optional<Shape> shape = {};
  std::string device = {};
};

class GraphBuilder;

// Adds a function's operations with `body`, and returns its outputs: one, a list of several, or
// an empty list.
using FunctionBody = std::function<OpInput(GraphBuilder& body, const std::vector<Output>& inputs)>;

struct GradientDescentOptions {
  double learning_rate = 0;
  // If set, used instead of learning_rate: a scalar of the variables' type, such as a placeholder.
  Output learning_rate_value = {};
  // Empty: all trainable ones.
  std::vector<Variable> variables = {};
};

// Adds operations to a graph that TensorFlow runs: to an empty one, to an imported one, or,
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
// The types of operations, their inputs and attributes are all those of TensorFlow that are
// registered in this process: see https://www.tensorflow.org/api_docs/python/tf/raw_ops. An
// attribute that follows from the inputs, such as "T", may be omitted. There are no scopes:
// names and devices are written in full, "hidden/weights".
//
// All functions that extend the graph throw AlreadyExistsError for a name that is taken,
// InvalidArgumentError for one that is illegal or begins with "crochet/", and
// FailedPreconditionError once the graph is finalized. A rejected operation is not in the
// graph.
//
// Extend the graph before the first run: each extension delays the next run. For one thread,
// while no session runs.
class CROCHET_EXPORT GraphBuilder {
 public:
  // The graph is not owned; it outlives this. Throws: InvalidArgumentError for another engine's
  // graph.
  explicit GraphBuilder(crochet::Graph& graph);

  // An operation of any type except TensorFlow's internal ones ("_Send").
  //
  // There are four differences from TensorFlow: a VarHandleOp without a shared_name gets its own
  // name, as two without one would be the same variable; an AssignVariableOp to a variable of known
  // shape has validate_shape set; operations that add to the global step run after its read,
  // global_step(); and an attribute that the type does not have is an error, not ignored.
  //
  // Functions among the attributes are checked against its inputs and outputs; a missing "Tout"
  // is set from their results.
  //
  // Throws: NotFoundError for an unknown type; InvalidArgumentError for anything that TensorFlow
  // rejects, such as a wrong number or type of inputs, a missing attribute, shapes that do not
  // match, and for illegal devices, outputs and functions of another graph, and functions of
  // other types. Messages name the operation.
  Operation op(const std::string& type, std::string name, const std::vector<OpInput>& inputs = {},
               const Attributes& attributes = {}, const OpOptions& options = {});

  // Makes a function of the operations that `body` adds, for operations of this graph and for
  // bodies of later functions:
  //
  //   const auto half = build.function("half", {{"x", DType::kFloat}}, [](auto& body, auto& x) {
  //     return body.op("Mul", "y", {x[0], body.constant("half", 0.5f)});
  //   });
  //   const auto same =
  //       build.function("same", {{"x", DType::kFloat}}, [](auto&, auto& x) { return x[0]; });
  //   build.op("If", "halved", {is_large, {y}}, {{"then_branch", half}, {"else_branch", same}});
  //
  // Names are local to the body, which can use only functions of the graph: values, and handles
  // of variables, must be inputs. A call runs all operations of the body that have side
  // effects, whether or not an output needs them, in the order of values and control inputs.
  // Outputs in the body, and its builder, are invalid once this returns.
  //
  // Also throws AlreadyExistsError if a function or an operation type has the name;
  // InvalidArgumentError for outputs that are not of the body, and for variables, placeholders and
  // summaries in it; what `body` throws. Then nothing is added.
  Function function(const std::string& name, const std::vector<FunctionInput>& inputs,
                    const FunctionBody& body);
  // The function of this name, including those of an imported graph. Throws: NotFoundError.
  Function function(const std::string& name);

  // A value to be fed. A run that needs it and is not fed one, or is fed one of another type or
  // shape, throws InvalidArgumentError.
  template <Element T>
  Output placeholder(std::string name, Shape shape) {
    return placeholder(std::move(name), dtype_of<T>, std::move(shape));
  }
  // Without a shape: of any shape.
  Output placeholder(std::string name, DType dtype, std::optional<Shape> shape = {});

  // A constant: a number, a string, a std::vector of one of them, a Tensor.
  // Also throws InvalidArgumentError for one of 2 GiB, which no graph can hold.
  template <typename T>
  Output constant(std::string name, T&& value, const OpOptions& options = {}) {
    return constant_of(std::move(name), to_tensor(std::forward<T>(value)), options);
  }

  // A resource variable that is initialised with `initial`, by the Scaffold for example.
  //
  // It consists of the operations "<name>", "<name>/initial_value" (for a tensor), "<name>/Assign"
  // and "<name>/Read/ReadVariableOp". It has this name in checkpoints.
  // Also throws InvalidArgumentError if `initial` does not have the given
  // shape, and for the name "global_step", which is that of create_global_step(graph);
  // UnimplementedError for an unknown rank, and types without values.
  Variable variable(const std::string& name, const Tensor& initial,
                    const VariableOptions& options = {});
  // The same for a value that is computed, such as random numbers.
  Variable variable(const std::string& name, const OpInput& initial,
                    const VariableOptions& options = {});

  // The variable's value. In a run that changes the variable it may be the value before or after
  // the change, unless the change depends on it. Throws (as do the next two): InvalidArgumentError
  // for variables of other engines, and for partitioned ones.
  static Output value(const Variable& variable);
  // The input of operations that change the variable: "AssignAddVariableOp", {handle(v), delta}.
  static Output handle(const Variable& variable);
  // The operation that assigns the initial value.
  static Operation initializer(const Variable& variable);

  // An operation that runs these and does nothing itself.
  Operation group(std::string name, const std::vector<Output>& operations);
  // Gives a value a second name.
  Output name(std::string name, const OpInput& value);

  // Add summaries to the graph's collection "summaries": SummarySaverHook fetches and writes them
  // under these names.
  Output scalar_summary(std::string name, const OpInput& value);
  Output histogram_summary(std::string name, const OpInput& values);

  // The derivatives of the sum of all elements of `ys`, of real or complex types, by each of `xs`,
  // values or variables: an output with the shape of x, or an unset one if no y depends on x.
  // The names of the added operations begin with "<name>/".
  //
  // Only the gradients of TensorFlow's C++ are available: about a third of Python's, and none for
  // If, Case and While. Through a call (PartitionedCall) they are found in the run, where a missing
  // one is an error. They are first tried on a copy of the graph, so that a failure adds nothing.
  // Also throws UnimplementedError, naming the operations, if one between xs and ys has no
  // gradient there, or belongs to a loop; InvalidArgumentError for other types, other graphs'
  // outputs, and lists among `ys` and `xs`.
  std::vector<Output> gradients(const std::string& name, const std::vector<OpInput>& ys,
                                const std::vector<OpInput>& xs);
  // An operation that subtracts from each variable its derivative of `loss` times the learning
  // rate. Variables that the loss does not depend on are not changed.
  // Also throws InvalidArgumentError if it depends on none; UnimplementedError for reference
  // variables.
  Operation gradient_descent(const std::string& name, const OpInput& loss,
                             const GradientDescentOptions& options);

 private:
  Output constant_of(std::string name, const Tensor& value, const OpOptions& options);
  Output summary(const char* type, const char* tag, std::string name, const OpInput& value);
  // Throws: as variable() does for its name.
  void check_name(const std::string& variable) const;
  Variable add_variable(const std::string& name, Output initial, const VariableOptions& options);
  std::vector<Output> add_gradients(const std::string& name, const std::vector<TF_Output>& ys,
                                    const std::vector<TF_Output>& xs);
  // Throws: InvalidArgumentError unless it is a value of this graph that has derivatives; `what`
  // names it in messages.
  TF_Output derivable(const std::string& what, const OpInput& input) const;
  // Also throws AlreadyExistsError if a name begins with this one and "/".
  void check_free_prefix(const std::string& name) const;
  // The functions of the graph by name; those of an imported one are read on the first call.
  // Throws: TensorFlow's errors.
  std::map<std::string, Function, std::less<>>& functions() const;
  void check_can_add_function(const std::string& name,
                              const std::vector<FunctionInput>& inputs) const;
  // Throws: InvalidArgumentError for unset functions and those of other graphs.
  void check_functions(const std::string& name, const Attributes& attributes) const;
  // Throws: InvalidArgumentError for an operation that is not allowed in a function, if this is
  // one.
  void check_may_be_in_function(const std::string& type, const std::string& name) const;
  // Throws: InvalidArgumentError for outputs of other graphs.
  void check_options(const std::string& name, const OpOptions& options) const;
  // Throws: InvalidArgumentError unless it is a value of this graph; `what` names it in messages.
  TF_Output checked(const Output& output, std::string_view what) const;

  Graph& graph_;
};

}  // namespace crochet::inline v0::tensorflow
