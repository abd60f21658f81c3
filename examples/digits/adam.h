// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "perceptron.h"

namespace digits {

// Adam (Kingma and Ba, 2015).
class Adam {
 public:
  static constexpr float kBeta1 = 0.9f;
  static constexpr float kBeta2 = 0.999f;
  static constexpr float kEpsilon = 1e-8f;

  // Requires: `weights` outlives this.
  Adam(Weights& weights, float learning_rate);

  // Updates the weights by one step of gradient descent.
  void apply(const Weights& gradients);

  template <typename Tracker>
  void track(Tracker& tracker) {
    tracker("step", step_)("mean", mean_)("variance", variance_);
  }

 private:
  Weights& weights_;
  const float learning_rate_;
  int64_t step_ = 0;
  Weights mean_;      // The decaying mean of the gradients.
  Weights variance_;  // The decaying mean of their squares.
};

}  // namespace digits
