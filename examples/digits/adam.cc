// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "adam.h"

#include <cmath>

namespace digits {

Adam::Adam(Weights& weights, float learning_rate)
    : weights_(weights),
      learning_rate_(learning_rate),
      mean_(Weights::zeros_like(weights)),
      variance_(Weights::zeros_like(weights)) {}

void Adam::apply(const Weights& gradients) {
  ++step_;
  // Both means start from 0; dividing by these corrects the bias.
  const auto step = static_cast<float>(step_);
  const float mean_correction = 1 - std::pow(kBeta1, step);
  const float variance_correction = 1 - std::pow(kBeta2, step);

  const auto update = [&](auto& weight, auto& mean, auto& variance, const auto& gradient) {
    mean = kBeta1 * mean + (1 - kBeta1) * gradient;
    variance = kBeta2 * variance + (1 - kBeta2) * gradient.cwiseAbs2();
    weight.array() -= learning_rate_ / mean_correction * mean.array() /
                      ((variance.array() / variance_correction).sqrt() + kEpsilon);
  };
  update(weights_.w1, mean_.w1, variance_.w1, gradients.w1);
  update(weights_.b1, mean_.b1, variance_.b1, gradients.b1);
  update(weights_.w2, mean_.w2, variance_.w2, gradients.w2);
  update(weights_.b2, mean_.b2, variance_.b2, gradients.b2);
}

}  // namespace digits
