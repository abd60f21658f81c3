// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/engines/local/operation_options.h"

namespace crochet::inline v0::local {
namespace {

void check_index(size_t index, size_t number, const char* what) {
  if (index >= number)
    throw InvalidArgumentError(
        fmt::format("the operation has {} {}, none of index {}", number, what, index));
}

const internal::Node& graph_node(const OperationInfo& operation) {
  return static_cast<const internal::Node&>(operation);
}

}  // namespace

const Tensor& KernelContext::input(size_t index) const {
  const std::vector<size_t>& slots = graph_node(operation_).input_slots;
  check_index(index, slots.size(), "inputs");
  return values_[slots[index]];
}

void KernelContext::set_output(size_t index, Tensor value) {
  check_index(index, static_cast<size_t>(operation_.num_outputs), "outputs");
  outputs_[index] = std::move(value);
}

void KernelContext::check_inputs() const { graph_node(operation_).check_inputs(values_); }

Tensor& KernelContext::variable(const Variable& variable) {
  return variables_[internal::node_of(variable).index].value();
}

Tensor& KernelContext::next(const Variable& variable) {
  return variables_[internal::node_of(variable).index].next();
}

}  // namespace crochet::inline v0::local
