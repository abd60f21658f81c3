// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/session.h"

#include <algorithm>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {

FetchValues Session::run(const Fetches& fetches, const Feeds& feeds, const RunOptions& options,
                         RunMetadata* metadata) {
  const Fetches resolved = graph().resolve(fetches);
  std::vector<Output> leaves;
  flatten(resolved, leaves);
  std::vector<Tensor> values(leaves.size());
  run_into(leaves, feeds, values, options, metadata);
  std::span<Tensor> rest = values;
  return unflatten(resolved, rest);
}

Tensor Session::read_variable(std::string_view name) {
  const Variable variable = graph().variable_named(name);
  return snapshot({&variable, 1}).tensors().at(0).tensor;
}

void Session::assign_variable(std::string_view name, const Tensor& value) {
  const Variable variable = graph().variable_named(name);
  if (value.dtype() != variable.dtype())
    throw InvalidArgumentError(fmt::format("variable \"{}\" is {} {}: found {}, expected {}", name,
                                           variable.dtype(), variable.shape(), describe(value),
                                           variable.dtype()));
  const auto fill = [&](std::span<std::byte> memory) {
    std::ranges::copy(value.bytes(), memory.begin());
  };
  const Assignment assignment{
      .variable = variable, .shape = value.shape(), .fill = fill, .strings = [&] { return value; }};
  assign({&assignment, 1});
}

void internal::throw_invalid_global_step(int64_t step) {
  throw FailedPreconditionError(
      fmt::format("the global step: found {}, expected at most {}", step, kMaxGlobalStep));
}

int64_t global_step_value(const Tensor& value) {
  return checked_global_step(value.dtype() == DType::kInt32 ? value.scalar<int32_t>()
                                                            : value.scalar<int64_t>());
}

int64_t read_global_step(Session& session) {
  const Output step = session.graph().global_step();
  if (!step) throw FailedPreconditionError("the graph has no global step");
  Tensor value;
  session.run_into({&step, 1}, {}, {&value, 1}, {}, nullptr);
  return global_step_value(value);
}

}  // namespace crochet::inline v0
