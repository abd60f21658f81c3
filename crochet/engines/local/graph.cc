// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/graph.h"

#include <algorithm>

#include "crochet/base/error.h"
#include "crochet/engines/local/session.h"

namespace crochet::local {
namespace {

constexpr const char* kGlobalStepName = "global_step";

// A shape whose sizes may change has the rank of today's and no sizes.
Shape forget_sizes(const Shape& shape) {
  return Shape(std::vector<int64_t>(static_cast<size_t>(shape.rank()), Shape::kUnknownDimension));
}

}  // namespace

Graph::Graph() = default;
Graph::~Graph() = default;

Operation Graph::add(OperationOptions options) {
  check_not_finalized(options.name);
  if (options.name.empty()) throw InvalidArgumentError("an operation without a name");
  if (nodes_by_name_.contains(options.name))
    throw AlreadyExistsError("the graph has an operation \"{}\" already", options.name);
  check_edges(options);
  auto node = std::make_unique<Node>();
  node->graph = this;
  node->name = options.name;
  node->num_outputs = options.num_outputs;
  node->index = nodes_.size();
  node->options = std::move(options);
  nodes_.push_back(std::move(node));
  nodes_by_name_.emplace(nodes_.back()->name, nodes_.back().get());
  return Operation(nodes_.back().get());
}

void Graph::check_edges(const OperationOptions& options) const {
  for (const std::vector<Output>* const outputs :
       {&options.inputs, &options.control_inputs, &options.after})
    for (const Output& output : *outputs)
      if (output.graph() != this)
        throw InvalidArgumentError("operation \"{}\": {} is not an output of this graph",
                                   options.name, to_string(output));
  for (const Output& input : options.inputs)
    if (!input.has_value())
      throw InvalidArgumentError("operation \"{}\": its input {} has no value", options.name,
                                 to_string(input));
  for (const std::vector<Variable>* const variables : {&options.reads, &options.updates})
    for (const Variable& variable : *variables)
      if (variable.info()->graph != this ||
          !static_cast<const VariableNode*>(variable.info())->is_owned())
        throw InvalidArgumentError("operation \"{}\": \"{}\" is no variable that this graph owns",
                                   options.name, variable.name());
}

Output Graph::value(std::string name, std::function<Tensor()> compute, std::vector<Output> after) {
  const auto kernel = [compute = std::move(compute)](KernelContext& context) {
    context.set_output(0, compute());
  };
  return add(
      {.name = std::move(name), .num_outputs = 1, .after = std::move(after), .kernel = kernel})[0];
}

Graph::VariableNode& Graph::add_variable(std::string name, DType dtype, Shape shape) {
  check_not_finalized(name);
  if (name.empty()) throw InvalidArgumentError("a variable without a name");
  if (std::ranges::find(
          variables_, name, [](const auto& v) -> auto& { return v->name; }) != variables_.end())
    throw AlreadyExistsError("the graph has a variable \"{}\" already", name);
  auto variable = std::make_unique<VariableNode>();
  variable->graph = this;
  variable->name = std::move(name);
  variable->dtype = dtype;
  variable->shape = std::move(shape);
  variable->index = variables_.size();
  variables_.push_back(std::move(variable));
  return *variables_.back();
}

Variable Graph::variable(std::string name, Tensor initial) {
  if (!initial.is_set()) throw InvalidArgumentError("variable \"{}\" has no initial value", name);
  VariableNode& node = add_variable(std::move(name), initial.dtype(), initial.shape());
  node.initial = std::move(initial);
  return Variable(&node);
}

Variable Graph::borrow(std::string name, BorrowedArray array) {
  const ArrayView view = array.view();
  if (element_size(view.dtype) == 0)
    throw InvalidArgumentError("array \"{}\": elements of type {} have no fixed size", name,
                               view.dtype);
  VariableNode& node = add_variable(std::move(name), view.dtype,
                                    array.resize ? forget_sizes(view.shape) : view.shape);
  node.array = std::move(array);
  return Variable(&node);
}

Variable Graph::create_global_step() {
  global_step_variable_ = variable(kGlobalStepName, Tensor::scalar<int64_t>(0));
  const Variable step = global_step_variable_;
  global_step_ = add({.name = kGlobalStepName,
                      .num_outputs = 1,
                      .reads = {step},
                      .kernel = [step](KernelContext& context) {
                        context.set_output(0, context.variable(step));
                      }})[0];
  return step;
}

Operation Graph::increment_global_step(std::vector<Output> control_inputs) {
  return add_global_step_increment(1, std::move(control_inputs));
}

Operation Graph::add_global_step_increment(int64_t increment, std::vector<Output> control_inputs) {
  if (!global_step_variable_)
    throw FailedPreconditionError("increment_global_step: the graph has made no global step");
  const Variable step = global_step_variable_;
  return add({.name = increment == 1 ? "increment_global_step"
                                     : fmt::format("increment_global_step_by_{}", increment),
              .control_inputs = std::move(control_inputs),
              .updates = {step},
              .kernel = [step, increment](KernelContext& context) {
                context.variable(step).mutable_flat<int64_t>()[0] += increment;
              }});
}

std::unique_ptr<crochet::Session> Graph::new_session(const std::string& target,
                                                     const SessionConfig& config) {
  if (!target.empty())
    throw InvalidArgumentError(
        "the local engine runs in this process; found target \"{}\", "
        "expected \"\"",
        target);
  if (!config.serialized.empty())
    throw InvalidArgumentError("the local engine has no settings; found {} bytes of them",
                               config.serialized.size());
  return std::make_unique<local::Session>(*this);
}

const OperationInfo* Graph::find_operation(std::string_view name) const {
  const auto found = nodes_by_name_.find(name);
  return found == nodes_by_name_.end() ? nullptr : found->second;
}

std::vector<std::string> Graph::operation_names() const {
  std::vector<std::string> names;
  for (const auto& node : nodes_) names.push_back(node->name);
  return names;
}

std::vector<Variable> Graph::variables() const {
  std::vector<Variable> variables;
  for (const auto& node : variables_) variables.emplace_back(node.get());
  return variables;
}

}  // namespace crochet::local
