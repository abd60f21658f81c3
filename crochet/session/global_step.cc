// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/session/graph.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

constexpr const char* kName = "global_step";

// Accepts an output whose type or shape the engine does not know.
void check_counts_steps(const Graph& graph, const Output& step) {
  const OutputInfo info = graph.output_info(step);
  if (info.dtype != DType::kInvalid && info.dtype != DType::kInt32 && info.dtype != DType::kInt64)
    throw InvalidArgumentError(fmt::format(
        "the global step {} does not have integer type: it is {}", to_string(step), info.dtype));
  if (info.shape && info.shape->rank() != 0)
    throw InvalidArgumentError(fmt::format("the global step {} is not scalar: its shape is {}",
                                           to_string(step), *info.shape));
}

Output find_by_name(const Graph& graph) {
  const OperationInfo* const info = graph.find_operation(kName);
  return info == nullptr || info->num_outputs == 0 ? Output() : Output(info, 0);
}

}  // namespace

Output find_global_step(const Graph& graph) {
  const std::vector<Output> registered = graph.collection(kGlobalStepCollection);
  if (registered.size() > 1) {
    log_error(fmt::format("the graph has {} global steps, including {} and {}; expected one",
                          registered.size(), to_string(registered[0]), to_string(registered[1])));
    return {};
  }
  const Output step = registered.empty() ? find_by_name(graph) : registered.front();
  if (step) check_counts_steps(graph, step);
  return step;
}

Output create_global_step(Graph& graph) {
  if (const Output step = graph.global_step())
    throw AlreadyExistsError(fmt::format("the global step {} already exists", to_string(step)));
  graph.add_global_step();
  return graph.global_step();
}

Output get_or_create_global_step(Graph& graph) {
  const Output step = graph.global_step();
  return step ? step : create_global_step(graph);
}

Operation increment_global_step(Graph& graph, int64_t increment,
                                std::vector<Output> control_inputs) {
  if (!graph.global_step())
    throw FailedPreconditionError("increment_global_step: the graph has no global step");
  return graph.add_global_step_increment(increment, std::move(control_inputs));
}

}  // namespace crochet::inline v0
