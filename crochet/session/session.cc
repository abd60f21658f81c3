// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/session.h"

#include "crochet/base/error.h"

namespace crochet {

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

int64_t read_global_step(Session& session) {
  const Output step = session.graph().global_step();
  if (!step) throw FailedPreconditionError("the graph has no global step");
  Tensor value;
  session.run_into({&step, 1}, {}, {&value, 1}, {}, nullptr);
  return value.dtype() == DType::kInt32 ? value.scalar<int32_t>() : value.scalar<int64_t>();
}

}  // namespace crochet
