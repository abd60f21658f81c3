// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/kernel_context.h"

#include "crochet/base/error.h"
#include "crochet/engines/local/graph.h"

namespace crochet::local {
namespace {

void check_index(size_t index, size_t number, const char* what) {
  if (index >= number)
    throw InvalidArgumentError("an operation has {} {}, none of index {}", number, what, index);
}

size_t index_of(const Variable& variable) {
  return static_cast<const Graph::VariableNode*>(variable.info())->index;
}

}  // namespace

const Tensor& KernelContext::input(size_t index) const {
  check_index(index, inputs_.size(), "inputs");
  return values_[inputs_[index]];
}

void KernelContext::set_output(size_t index, Tensor value) {
  check_index(index, outputs_.size(), "outputs");
  outputs_[index] = std::move(value);
}

Tensor& KernelContext::variable(const Variable& variable) {
  return variables_[index_of(variable)].value();
}

Tensor& KernelContext::next(const Variable& variable) {
  return variables_[index_of(variable)].next();
}

}  // namespace crochet::local
