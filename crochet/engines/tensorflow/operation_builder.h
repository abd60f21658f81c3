// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "crochet/engines/tensorflow/c_api.h"

namespace crochet::tensorflow::internal {

// Adds one operation to a graph.
//
//   OperationBuilder builder(graph, "Pack", "crochet/flags");
//   builder.input_list(flags).integer("axis", 0);
//   TF_Operation* const pack = builder.finish();
//
// The operation is in the graph once finish() returns; until then, and if it throws, it is not.
class OperationBuilder {
 public:
  // Throws: InvalidArgumentError for a name that TensorFlow would take and not run, or one that is
  // taken.
  OperationBuilder(TF_Graph* graph, const char* type, std::string name);
  // A description that was begun must be finished: TensorFlow has no other way to delete it. What
  // comes of that is an operation that nobody runs.
  ~OperationBuilder();
  OperationBuilder(const OperationBuilder&) = delete;
  OperationBuilder& operator=(const OperationBuilder&) = delete;

  OperationBuilder& input(TF_Output output);
  OperationBuilder& input_list(std::span<const TF_Output> outputs);
  OperationBuilder& control_input(TF_Operation* operation);
  OperationBuilder& colocate_with(TF_Operation* operation);
  OperationBuilder& type(const char* attribute, TF_DataType value);
  OperationBuilder& tensor(const char* attribute, TF_Tensor* value);

  // Throws: what TensorFlow says of it.
  TF_Operation* finish();

 private:
  const std::string name_;
  TF_OperationDescription* description_;
};

}  // namespace crochet::tensorflow::internal
