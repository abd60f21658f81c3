// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/builder/internal/gradients.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow {
namespace {

// A variable to change, or a part of one.
struct Learner {
  TF_Operation* handle;
  DType dtype;
};

std::vector<Learner> learners(const Graph& graph, const std::string& what,
                              const std::vector<Variable>& variables) {
  std::vector<Learner> result;
  for (const Variable& variable : variables) {
    if (!variable || variable.info()->graph != &graph)
      throw InvalidArgumentError(fmt::format("{}: \"{}\" is not a variable of this graph", what,
                                             variable ? variable.name() : "(none)"));
    if (!internal::has_derivatives(variable.dtype()))
      throw InvalidArgumentError(fmt::format("{}: variable \"{}\" is {}, which has no derivatives",
                                             what, variable.name(), variable.dtype()));
    for (const Graph::Slice& part : node_of(variable).parts) {
      if (!part.definition->is_resource)
        throw UnimplementedError(
            fmt::format("{}: \"{}\" is a reference variable", what, variable.name()));
      if (std::ranges::find(result, part.handle, &Learner::handle) == result.end())
        result.push_back({.handle = part.handle, .dtype = variable.dtype()});
    }
  }
  return result;
}

std::vector<Variable> trainable_variables(const Graph& graph) {
  std::vector<Variable> result;
  for (const Variable& variable : graph.variables())
    if (node_of(variable).parts.front().definition->trainable &&
        internal::has_derivatives(variable.dtype()))
      result.push_back(variable);
  return result;
}

// Throws: InvalidArgumentError if a given rate is not a scalar of the variables' type.
void check_rate(const std::string& what, const OutputInfo& rate,
                const std::vector<Learner>& learners) {
  for (const Learner& learner : learners)
    if (rate.dtype != learner.dtype || (rate.shape && rate.shape->rank() != 0))
      throw InvalidArgumentError(
          fmt::format("{}: the learning rate is {} {}, variable \"{}\" needs a scalar of {}", what,
                      rate.dtype, rate.shape ? to_string(*rate.shape) : "of any shape",
                      TF_OperationName(learner.handle), learner.dtype));
}

}  // namespace

Operation GraphBuilder::gradient_descent(const std::string& name, const OpInput& loss,
                                         const GradientDescentOptions& options) {
  const std::string what = fmt::format("gradient descent \"{}\"", name);
  check_free_prefix(name);
  const std::vector<Learner> all = learners(
      graph_, what, options.variables.empty() ? trainable_variables(graph_) : options.variables);
  std::map<DType, Output> rates;
  if (options.learning_rate_value) {
    checked(options.learning_rate_value, what + ": the learning rate");
    check_rate(what, graph_.output_info(options.learning_rate_value), all);
    for (const Learner& learner : all) rates[learner.dtype] = options.learning_rate_value;
  }
  std::vector<TF_Output> handles;
  for (const Learner& learner : all) handles.push_back({learner.handle, 0});
  const std::vector<Output> derivatives =
      add_gradients(name + "/gradients", {derivable(what, loss)}, handles);
  if (std::ranges::none_of(derivatives, [](const Output& derivative) { return bool(derivative); }))
    throw InvalidArgumentError(fmt::format("{}: the loss {} depends on none of {} variables", what,
                                           to_string(loss.outputs().front()), all.size()));

  Output rate;
  if (rates.empty()) rate = constant(name + "/learning_rate", options.learning_rate);
  std::vector<Output> updates;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!derivatives[i]) continue;
    Output& own_rate = rates[all[i].dtype];
    if (!own_rate)
      own_rate = op("Cast", fmt::format("{}/learning_rate_{}", name, all[i].dtype), {rate},
                    {{"DstT", all[i].dtype}})[0];
    const std::string variable = TF_OperationName(all[i].handle);
    const Output handle(graph_.find_operation(variable), 0);
    updates.push_back(op("ResourceApplyGradientDescent",
                         fmt::format("{}/update_{}", name, variable),
                         {handle, own_rate, derivatives[i]}, {}, {.colocate_with = handle}));
  }
  return group(name, updates);
}

}  // namespace crochet::inline v0::tensorflow
