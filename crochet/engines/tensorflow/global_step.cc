// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/operation_builder.h"

namespace crochet::inline v0::tensorflow {

using internal::OperationBuilder;

void Graph::add_global_step() {
  const std::string name = "global_step";
  const std::string initial = name + "/initial_value";
  const std::string assign = name + "/Assign";
  const std::string value = name + "/Read/ReadVariableOp";
  check_can_add_variable(name);
  check_free_resource(name);
  const auto add = [this](OperationBuilder& operation) {
    return add_node(operation.finish()).operation;
  };
  TF_Operation* const zero = add(OperationBuilder(graph_.get(), "Const", initial)
                                     .attribute("dtype", DType::kInt64)
                                     .attribute("value", Tensor::scalar<int64_t>(0)));
  TF_Operation* const handle = add(OperationBuilder(graph_.get(), "VarHandleOp", name)
                                       .attribute("dtype", DType::kInt64)
                                       .attribute("shape", Shape{})
                                       .attribute("shared_name", name));
  add(OperationBuilder(graph_.get(), "AssignVariableOp", assign)
          .input({handle, 0})
          .input({zero, 0})
          .attribute("validate_shape", true)
          .colocate_with(handle));
  for (const std::string& read : {value, std::string(internal::kGlobalStepNode)})
    add(OperationBuilder(graph_.get(), "ReadVariableOp", read)
            .input({handle, 0})
            .attribute("dtype", DType::kInt64)
            .colocate_with(handle));
  constexpr std::array<std::string_view, 1> kCollections = {"variables"};
  const Variable step = add_variable({.variable_name = name + ":0",
                                      .initializer_name = assign,
                                      .snapshot_name = value + ":0",
                                      .initial_value_name = initial + ":0",
                                      .slice = {},
                                      .is_resource = true,
                                      .trainable = false},
                                     kCollections);
  added_to_collections_[std::string(kGlobalStepCollection)] = {
      node_of(step).parts.front().definition};
}

Operation Graph::add_global_step_increment(int64_t increment, std::vector<Output> control_inputs) {
  TF_Operation* const handle = global_step_handle();
  if (handle == nullptr)
    throw FailedPreconditionError("increment_global_step: the graph has no global step");
  const std::string name = increment == 1 ? "increment_global_step"
                                          : fmt::format("increment_global_step_by_{}", increment);
  const Output read = global_step();
  const DType dtype = output_info(read).dtype;
  if (dtype == DType::kInt32 && increment != static_cast<int32_t>(increment))
    throw InvalidArgumentError(fmt::format("{}: the global step is int32", name));
  check_can_add(name);
  check_can_add(name + "/amount");
  for (const Output& control : control_inputs) check_has(control);
  const Tensor value = dtype == DType::kInt32 ? Tensor::scalar(static_cast<int32_t>(increment))
                                              : Tensor::scalar(increment);
  OperationBuilder constant(graph_.get(), "Const", name + "/amount");
  constant.attribute("dtype", dtype).attribute("value", value);
  const bool is_resource = internal::type_number(TF_Output{handle, 0}) == TF_RESOURCE;
  OperationBuilder sum(graph_.get(), is_resource ? "AssignAddVariableOp" : "AssignAdd", name);
  sum.input({handle, 0}).input({add_node(constant.finish()).operation, 0}).colocate_with(handle);
  for (const Output& control : control_inputs) sum.control_input(node_of(control).operation);
  sum.control_input(node_of(read).operation);  // The read is of the step before the run.
  return Operation(&add_node(sum.finish()));
}

}  // namespace crochet::inline v0::tensorflow
