// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include <Eigen/Core>

#include "digits_data.h"

namespace digits {

// A number for each parameter of a two-layer perceptron: the parameters
// themselves, their gradients or an optimiser's moments.
struct Weights {
  Eigen::MatrixXf w1;  // [hidden, inputs]
  Eigen::VectorXf b1;  // [hidden]
  Eigen::MatrixXf w2;  // [outputs, hidden]
  Eigen::VectorXf b2;  // [outputs]

  static Weights zeros(Eigen::Index inputs, Eigen::Index hidden, Eigen::Index outputs);
  static Weights zeros_like(const Weights& other);

  // Lists the parts for crochet, which saves and restores them: "model/w1", ...
  template <typename Tracker>
  void track(Tracker& tracker) {
    tracker("w1", w1)("b1", b1)("w2", w2)("b2", b2);
  }
};

struct Gradients : Weights {
  float loss = std::numeric_limits<float>::quiet_NaN();  // Of the batch; initially NaN.
};

// inputs -> hidden units with ReLU -> outputs, which softmax turns into
// probabilities. Samples are columns.
struct Perceptron : Weights {
  // Weights are uniform with variance 2 / inputs (He et al., 2015), biases 0.
  Perceptron(Eigen::Index inputs, Eigen::Index hidden, Eigen::Index outputs, uint64_t seed);

  // The cross-entropy averaged over the batch, and its gradients.
  Gradients gradients(const Dataset& batch) const;
  // The most probable class of each image.
  Eigen::VectorXi predict(const Eigen::MatrixXf& images) const;
};

}  // namespace digits
