// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::tensorflow {
namespace {

const Graph::Slice& whole_part(const Variable& variable) {
  if (!variable || crochet::internal::dynamic_as<const Graph>(variable.info()->graph) == nullptr)
    throw InvalidArgumentError(fmt::format("\"{}\" is not a variable of TensorFlow",
                                           variable ? variable.name() : "(none)"));
  const Graph::VariableNode& node = node_of(variable);
  if (!node.parts.front().offset.empty())
    throw InvalidArgumentError(fmt::format(
        "variable \"{}\" is in {} parts: use their own operations", node.name, node.parts.size()));
  return node.parts.front();
}

// The fixed shape of a variable. Throws: as GraphBuilder::variable() does.
Shape shape_of_variable(const std::string& name, const OutputInfo& initial,
                        const VariableOptions& options) {
  if (element_size(initial.dtype) == 0 && initial.dtype != DType::kString)
    throw UnimplementedError(
        fmt::format("variable \"{}\": variables of type {} cannot be saved", name, initial.dtype));
  if (!options.shape) {
    if (initial.shape) return *initial.shape;
    throw UnimplementedError(fmt::format(
        "variable \"{}\": the rank of its initial value is unknown, and no shape is given", name));
  }
  if (initial.shape && !initial.shape->is_compatible_with(*options.shape))
    throw InvalidArgumentError(
        fmt::format("variable \"{}\": the initial value has the shape {}, expected {}", name,
                    *initial.shape, *options.shape));
  return *options.shape;
}

}  // namespace

Output GraphBuilder::value(const Variable& variable) { return whole_part(variable).value; }

Output GraphBuilder::handle(const Variable& variable) {
  const char* const name = TF_OperationName(whole_part(variable).handle);
  return Output(variable.info()->graph->find_operation(name), 0);
}

Operation GraphBuilder::initializer(const Variable& variable) {
  return Operation(whole_part(variable).initializer.operation());
}

void GraphBuilder::check_name(const std::string& variable) const {
  if (variable == "global_step")
    throw InvalidArgumentError(
        "variable \"global_step\" would not be the global step: call create_global_step(graph)");
  graph_.check_can_add_variable(variable);
}

Variable GraphBuilder::variable(const std::string& name, const Tensor& initial,
                                const VariableOptions& options) {
  check_name(name);
  if (!initial.is_set())
    throw InvalidArgumentError(fmt::format("variable \"{}\" has no initial value", name));
  shape_of_variable(name, {.dtype = initial.dtype(), .shape = initial.shape()}, options);
  return add_variable(name, constant(name + "/initial_value", initial, {.device = options.device}),
                      options);
}

Variable GraphBuilder::variable(const std::string& name, const OpInput& initial,
                                const VariableOptions& options) {
  check_name(name);
  const std::string what = fmt::format("variable \"{}\": the initial value", name);
  if (initial.is_list()) throw InvalidArgumentError(fmt::format("{} is a list", what));
  checked(initial.outputs().front(), what);
  return add_variable(name, initial.outputs().front(), options);
}

Variable GraphBuilder::add_variable(const std::string& name, Output initial,
                                    const VariableOptions& options) {
  const OutputInfo info = graph_.output_info(initial);
  const Shape shape = shape_of_variable(name, info, options);
  const Output handle = op("VarHandleOp", name, {}, {{"dtype", info.dtype}, {"shape", shape}},
                           {.device = options.device})[0];
  const OpOptions beside = {.colocate_with = handle};
  // If the shape is not known yet, it is checked in the run, which the assignment does not do.
  if (info.shape != shape)
    initial = op("EnsureShape", name + "/initial_value_checked", {initial}, {{"shape", shape}})[0];
  op("AssignVariableOp", name + "/Assign", {handle, initial}, {}, beside);
  op("ReadVariableOp", name + "/Read/ReadVariableOp", {handle}, {{"dtype", info.dtype}}, beside);

  const VariableDef definition = {.variable_name = name + ":0",
                                  .initializer_name = name + "/Assign",
                                  .snapshot_name = name + "/Read/ReadVariableOp:0",
                                  .initial_value_name = to_string(initial),
                                  .slice = {},
                                  .is_resource = true,
                                  .trainable = options.trainable};
  std::vector<std::string_view> collections = {options.local ? "local_variables" : "variables"};
  if (options.trainable && !options.local) collections.emplace_back("trainable_variables");
  return graph_.add_variable(definition, collections);
}

}  // namespace crochet::inline v0::tensorflow
