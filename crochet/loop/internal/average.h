// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "crochet/loop/loop.h"
#include "crochet/session/saveable.h"
#include "crochet/tracking/internal/tracked_epochs.h"

namespace crochet::inline v0::internal {

// The mean of values of a function. Saved with what it needs, so that a resumed run has the same
// means.
class Average : public Saveable {
 public:
  explicit Average(std::function<Tensor()> compute) : compute_(std::move(compute)) {}

  // Computes a value. One that is unset is left out.
  void add();
  // A float64 scalar; unset before the first value.
  virtual Tensor mean() const = 0;

 protected:
  virtual void add(double value) = 0;
  // Before each value, also one that is unset.
  virtual void begin_step() {}

 private:
  std::function<Tensor()> compute_;
};

// That of the last n values.
class MovingMean final : public Average {
 public:
  // Throws: InvalidArgumentError unless num_values is 1 or more.
  MovingMean(std::function<Tensor()> compute, int64_t num_values);

  Tensor mean() const override;
  TensorMap save() const override;
  // Of more values than n, keeps the last ones.
  void restore(const TensorMap& state) override;

 protected:
  void add(double value) override;

 private:
  // Calls `visit` with the values, the oldest first.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < values_.size(); ++i) visit(values_[(oldest_ + i) % values_.size()]);
  }

  size_t num_values_;
  std::vector<double> values_;  // A ring once it is full.
  size_t oldest_ = 0;
};

// That of the values of the current epoch.
class EpochMean final : public Average {
 public:
  EpochMean(std::function<Tensor()> compute, EpochProgress epochs)
      : Average(std::move(compute)), epochs_(std::move(epochs)) {}

  Tensor mean() const override;
  TensorMap save() const override;
  void restore(const TensorMap& state) override;

 protected:
  void begin_step() override;
  void add(double value) override;

 private:
  const EpochProgress epochs_;
  double epoch_ = 0;  // The last step's.
  double sum_ = 0;
  double count_ = 0;
};

// Throws: FailedPreconditionError for `each_epoch` without epochs in the graph.
std::shared_ptr<Average> make_average(std::function<Tensor()> compute,
                                      const AverageOptions& options, const Graph& graph);

}  // namespace crochet::inline v0::internal
