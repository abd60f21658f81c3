// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/builder/internal/operation_rules.h"

#include <string_view>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/internal/function_rules.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/status.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

bool has_known_shape(TF_Operation* handle) {
  Status status;
  const TF_AttrMetadata about = TF_OperationGetAttrMetadata(handle, "shape", status.get());
  if (!status.ok() || about.total_size < 0) return false;
  std::vector<int64_t> dimensions(static_cast<size_t>(about.total_size));
  TF_OperationGetAttrShape(handle, "shape", dimensions.data(), static_cast<int>(dimensions.size()),
                           status.get());
  return status.ok() && Shape(dimensions).is_fully_known();
}

// Null without a global step.
TF_Operation* global_step_read(const Graph& graph) {
  const Output read = graph.global_step();
  return read ? node_of(read).operation : nullptr;
}

bool is_among(TF_Operation* operation, const std::vector<std::vector<TF_Output>>& inputs) {
  for (const std::vector<TF_Output>& list : inputs)
    for (const TF_Output& input : list)
      if (input.oper == operation) return true;
  return false;
}

}  // namespace

RuledOperation apply_rules(const Graph& graph, const std::string& type, const std::string& name,
                           const std::vector<std::vector<TF_Output>>& inputs,
                           const Attributes& attributes) {
  RuledOperation rules;
  if (type == "VarHandleOp" && !attributes.contains("shared_name")) {
    graph.check_free_resource(name);
    rules.attributes.emplace("shared_name", name);
  }
  TF_Operation* const step = global_step_read(graph);
  if (step != nullptr && !functions_in(attributes).empty() &&
      is_among(TF_OperationInput({step, 0}).oper, inputs))
    rules.control_inputs.push_back(step);
  TF_Operation* const first =
      inputs.empty() || inputs.front().empty() ? nullptr : inputs.front().front().oper;
  if (first == nullptr) return rules;
  const std::string_view first_type = TF_OperationOpType(first);
  // A placeholder is an input of a function, whose variable's shape is not known yet.
  if (type == "AssignVariableOp" &&
      (first_type == "Placeholder" || (first_type == "VarHandleOp" && has_known_shape(first))))
    rules.attributes.emplace("validate_shape", true);
  if (step != nullptr && is_adding(type) && TF_OperationInput({step, 0}).oper == first)
    rules.control_inputs.push_back(step);
  return rules;
}

}  // namespace crochet::inline v0::tensorflow::internal
