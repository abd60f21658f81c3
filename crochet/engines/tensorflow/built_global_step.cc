// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/engines/tensorflow/graph_builder.h"
#include "crochet/engines/tensorflow/graph_def.h"
#include "crochet/engines/tensorflow/operation_builder.h"

namespace crochet::inline v0::tensorflow {

void Graph::add_global_step() {
  GraphBuilder build(*this);
  const Variable step =
      build.variable("global_step", Tensor::scalar<int64_t>(0), {.trainable = false});
  TF_Operation* const handle = node_of(step).parts.front().handle;
  internal::OperationBuilder read(graph_.get(), "ReadVariableOp",
                                  std::string(internal::kGlobalStepNode));
  read.input({handle, 0}).attribute("dtype", DType::kInt64).colocate_with(handle);
  add_node(read.finish());
  added_to_collections_[std::string(kGlobalStepCollection)] = {
      node_of(step).parts.front().definition};
}

Operation Graph::add_global_step_increment(int64_t increment, std::vector<Output> control_inputs) {
  TF_Operation* const handle = global_step_handle();
  if (handle == nullptr)
    throw FailedPreconditionError("increment_global_step: the graph has no global step");
  const std::string name = increment == 1 ? "increment_global_step"
                                          : fmt::format("increment_global_step_by_{}", increment);
  const DType dtype = output_info(global_step()).dtype;
  if (dtype == DType::kInt32 && increment != static_cast<int32_t>(increment))
    throw InvalidArgumentError(fmt::format("{}: the global step is int32", name));
  const Output counter(find_operation(TF_OperationName(handle)), 0);
  const bool is_resource = TF_OperationOutputType({handle, 0}) == TF_RESOURCE;
  GraphBuilder build(*this);
  build.check_can_add(name);
  const Output amount = dtype == DType::kInt32
                            ? build.constant(name + "/amount", static_cast<int32_t>(increment))
                            : build.constant(name + "/amount", increment);
  return build.op(is_resource ? "AssignAddVariableOp" : "AssignAdd", name, {counter, amount}, {},
                  {.control_inputs = std::move(control_inputs), .colocate_with = counter});
}

}  // namespace crochet::inline v0::tensorflow
