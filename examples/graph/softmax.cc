// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

#include <cmath>

namespace digits {
namespace {

using crochet::ConstMatrix, crochet::ConstVector, crochet::RowMajorMatrix;

// A score for each sample (row) and class (column).
RowMajorMatrix<float> scores(ConstMatrix x, ConstMatrix w, ConstVector<float> b) {
  return (x * w).rowwise() + b.transpose();
}

}  // namespace

std::tuple<RowMajorMatrix<float>, Eigen::VectorXf, float> softmax_gradients(ConstMatrix x,
                                                                            ConstVector<int32_t> y,
                                                                            ConstMatrix w,
                                                                            ConstVector<float> b) {
  RowMajorMatrix<float> errors = scores(x, w, b);
  const float scale = 1.0f / static_cast<float>(x.rows());
  float loss = 0;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    auto row = errors.row(i).array();
    row = (row - row.maxCoeff()).exp();  // The largest becomes 0, or exp may overflow.
    row /= row.sum();
    loss -= std::log(row(y[i]));
    row(y[i]) -= 1;
  }
  return {x.transpose() * errors * scale, errors.colwise().sum().transpose() * scale, loss * scale};
}

float softmax_accuracy(ConstMatrix x, ConstVector<int32_t> y, ConstMatrix w, ConstVector<float> b) {
  const RowMajorMatrix<float> found = scores(x, w, b);
  int64_t hits = 0;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    Eigen::Index best = 0;
    found.row(i).maxCoeff(&best);
    hits += best == y[i];
  }
  return static_cast<float>(hits) / static_cast<float>(x.rows());
}

}  // namespace digits
