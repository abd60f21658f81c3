// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/average.h"

#include <algorithm>
#include <cmath>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/tracking/internal/saveable_adapters.h"

namespace crochet::inline v0::internal {
namespace {

// Not the name of a MovingMean's state: neither reads the other's.
constexpr const char* kState = "of_epoch";

}  // namespace

void Average::add() {
  begin_step();
  const Tensor value = compute_();
  if (value.is_set()) add(value.to_double());
}

MovingMean::MovingMean(std::function<Tensor()> compute, int64_t num_values)
    : Average(std::move(compute)), num_values_(static_cast<size_t>(num_values)) {
  check_at_least("Loop::average: steps", num_values, 1);
}

void MovingMean::add(double value) {
  if (values_.size() < num_values_) return values_.push_back(value);
  values_[oldest_] = value;
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

void EpochMean::begin_step() {
  // In the middle of epoch 3 it is 2.5, and at its end 3.
  const double epoch = std::ceil(epochs_().value_or(epoch_));
  if (epoch != epoch_) sum_ = count_ = 0;
  epoch_ = epoch;
}

void EpochMean::add(double value) {
  sum_ += value;
  ++count_;
}

Tensor EpochMean::mean() const {
  if (count_ == 0) return {};
  return Tensor::scalar(sum_ / count_);
}

TensorMap EpochMean::save() const {
  return {{kState, Tensor::from(std::vector<double>{epoch_, sum_, count_})}};
}

void EpochMean::restore(const TensorMap& state) {
  const Tensor& tensor = single_column(state, kState);
  check_vector(tensor, DType::kDouble, 3);
  const auto stored = tensor.flat<double>();
  epoch_ = stored[0];
  sum_ = stored[1];
  count_ = stored[2];
}

std::shared_ptr<Average> make_average(std::function<Tensor()> compute,
                                      const AverageOptions& options, const Graph& graph) {
  if (!options.each_epoch) return std::make_shared<MovingMean>(std::move(compute), options.steps);
  EpochProgress epochs = tracked_epochs(graph);
  if (!epochs)
    throw FailedPreconditionError(
        "Loop::average: each_epoch: no Epochs is tracked: call Loop::track for it before");
  return std::make_shared<EpochMean>(std::move(compute), std::move(epochs));
}

}  // namespace crochet::inline v0::internal
