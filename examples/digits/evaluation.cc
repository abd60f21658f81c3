// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation.h"

namespace digits {

using crochet::Tensor;

float accuracy(const Perceptron& model, const Dataset& data) {
  const Eigen::Index hits = (model.predict(data.images).array() == data.labels.array()).count();
  return static_cast<float>(hits) / static_cast<float>(data.size());
}

Tensor confusion_matrix(const Perceptron& model, const Dataset& data) {
  const Eigen::VectorXi predicted = model.predict(data.images);
  Tensor matrix = Tensor::zeros<int64_t>({kClasses, kClasses});
  const auto counts = matrix.mutable_flat<int64_t>();
  for (Eigen::Index i = 0; i < data.size(); ++i)
    ++counts[static_cast<size_t>(data.labels[i]) * kClasses + static_cast<size_t>(predicted[i])];
  return matrix;
}

}  // namespace digits
