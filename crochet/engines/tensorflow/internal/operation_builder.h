// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crochet/engines/tensorflow/graph.h"
#include "crochet/engines/tensorflow/internal/c_api.h"

namespace crochet::inline v0::tensorflow::internal {

// Adds one operation to a graph.
//
//   OperationBuilder builder(graph, "Pack", "crochet/flags");
//   builder.input_list(flags).attribute("axis", 0);
//   TF_Operation* const pack = builder.finish();
//
// The operation is in the graph once finish() returns; until then, and if it throws, it is not.
class OperationBuilder {
 public:
  // Throws: NotFoundError for a type that TensorFlow does not have; InvalidArgumentError for its
  // internal types, and for a name that it would accept but not run; AlreadyExistsError for one
  // that is taken.
  OperationBuilder(TF_Graph* graph, std::string type, std::string name);
  ~OperationBuilder();
  OperationBuilder(const OperationBuilder&) = delete;
  OperationBuilder& operator=(const OperationBuilder&) = delete;

  OperationBuilder& input(TF_Output output);
  OperationBuilder& input_list(std::span<const TF_Output> outputs);
  OperationBuilder& control_input(TF_Operation* operation);
  OperationBuilder& colocate_with(TF_Operation* operation);
  // Throws: InvalidArgumentError for a name that TensorFlow would accept but not run.
  OperationBuilder& device(const std::string& device);
  // Throws: InvalidArgumentError for an attribute that the type does not have, which TensorFlow
  // would ignore, and for values out of its range.
  OperationBuilder& attribute(const std::string& name, const Attribute& value);

  // Throws: TensorFlow's error.
  TF_Operation* finish();

 private:
  const std::string name_;
  const std::string type_;
  std::vector<std::string> attributes_;  // The names of the type's attributes.
  TF_OperationDescription* description_;
};

}  // namespace crochet::inline v0::tensorflow::internal
