// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"

namespace crochet::inline v0::tensorflow {

using crochet::internal::with_value;

OpInput::OpInput(Output output, Variable variable)
    : outputs_({with_value(output)}), variable_(variable) {}

OpInput::OpInput(const Variable& variable) : OpInput(GraphBuilder::value(variable), variable) {}

OpInput::OpInput(std::initializer_list<OpInput> list) : is_list_(true) {
  for (const OpInput& item : list) {
    if (item.is_list_) throw InvalidArgumentError("a list of inputs contains a list");
    outputs_.push_back(item.outputs_.front());
  }
}

OpInput::OpInput(const std::vector<Output>& list) : is_list_(true) {
  for (const Output& output : list) outputs_.push_back(with_value(output));
}

}  // namespace crochet::inline v0::tensorflow
