// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "crochet/session/saveable.h"

namespace crochet::inline v0::internal {

// The mean of the last n values of a function. Saved with the values, so that a resumed run has the
// same means.
class MovingMean final : public Saveable {
 public:
  // Throws: InvalidArgumentError unless num_values is 1 or more.
  MovingMean(std::function<Tensor()> compute, int64_t num_values);

  // Computes a value. One that is unset is left out.
  void add();
  // A float64 scalar; unset before the first value.
  Tensor mean() const;

  TensorMap save() const override;
  // Of more values than n, keeps the last ones.
  void restore(const TensorMap& state) override;

 private:
  // Calls `visit` with the values, the oldest first.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < values_.size(); ++i) visit(values_[(oldest_ + i) % values_.size()]);
  }

  std::function<Tensor()> compute_;
  size_t num_values_;
  std::vector<double> values_;  // A ring once it is full.
  size_t oldest_ = 0;
};

}  // namespace crochet::inline v0::internal
