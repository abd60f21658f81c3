// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/moving_mean.h"

#include <algorithm>

#include "crochet/base/check_number.h"
#include "crochet/tracking/internal/saveable_adapters.h"

namespace crochet::inline v0::internal {

MovingMean::MovingMean(std::function<Tensor()> compute, int64_t num_values)
    : compute_(std::move(compute)), num_values_(static_cast<size_t>(num_values)) {
  check_at_least("Loop::average: steps", num_values, 1);
}

void MovingMean::add() {
  const Tensor value = compute_();
  if (!value.is_set()) return;
  if (values_.size() < num_values_) return values_.push_back(value.to_double());
  values_[oldest_] = value.to_double();
  oldest_ = (oldest_ + 1) % num_values_;
}

Tensor MovingMean::mean() const {
  if (values_.empty()) return {};
  double sum = 0;
  for_each([&](double value) { sum += value; });
  return Tensor::scalar(sum / static_cast<double>(values_.size()));
}

TensorMap MovingMean::save() const {
  std::vector<double> in_order;
  for_each([&](double value) { in_order.push_back(value); });
  return {{"", Tensor::from(in_order)}};
}

void MovingMean::restore(const TensorMap& state) {
  const auto stored = single_vector(state, DType::kDouble).flat<double>();
  const size_t kept = std::min(num_values_, stored.size());
  values_.assign(stored.end() - static_cast<std::ptrdiff_t>(kept), stored.end());
  oldest_ = 0;
}

}  // namespace crochet::inline v0::internal
