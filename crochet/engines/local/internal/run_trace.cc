// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/run_trace.h"

#include <unistd.h>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::local::internal {
namespace {

std::vector<std::string> input_names(const Node& node) {
  std::vector<std::string> names;
  for (const Output& input : node.options.inputs) names.push_back(input.operation()->name);
  return names;
}

int64_t bytes_of(std::span<const Tensor> tensors) {
  size_t sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.num_bytes();
  return static_cast<int64_t>(sum);
}

}  // namespace

void RunTrace::start() {
  start_ = Clock::real().now();
  if (metadata_ != nullptr) metadata_->start_time = Clock::real().wall_time();
}

void RunTrace::begin(const Node& node) {
  operation_start_ = Clock::real().now();
  const Clock::Duration elapsed = operation_start_ - start_;
  if (timeout_in_ms_ > 0 && elapsed >= std::chrono::milliseconds(timeout_in_ms_))
    throw DeadlineExceededError(
        fmt::format("run: {:.3f} s have passed before \"{}\": the limit is {} ms",
                    to_seconds(elapsed), node.name, timeout_in_ms_));
}

void RunTrace::end(const Node& node, std::span<const Tensor> outputs) {
  if (metadata_ == nullptr) return;
  metadata_->operations.push_back({.name = node.name,
                                   .inputs = input_names(node),
                                   .device = "/local",
                                   .thread = gettid(),
                                   .start = operation_start_ - start_,
                                   .duration = Clock::real().now() - operation_start_,
                                   .output_bytes = bytes_of(outputs)});
}

}  // namespace crochet::inline v0::local::internal
