// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/global_step.h"

#include "crochet/base/error.h"

namespace crochet {

Output require_global_step(const Graph& graph, const SessionRunHook& hook) {
  const Output step = graph.global_step();
  if (!step)
    throw FailedPreconditionError("{} needs a global step, the graph has none", hook.name());
  return step;
}

int64_t step_value(const Tensor& value) {
  return value.dtype() == DType::kInt32 ? value.scalar<int32_t>() : value.scalar<int64_t>();
}

}  // namespace crochet
