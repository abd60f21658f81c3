// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

#include <crochet/eigen.h>

namespace digits {

// The derivatives of a batch's mean loss by the weights and by the bias, and the loss itself.
// x: [batch, inputs], y: [batch], w: [inputs, classes], b: [classes].
std::tuple<crochet::RowMajorMatrix<float>, Eigen::VectorXf, float> softmax_gradients(
    crochet::ConstMatrix x, crochet::ConstVector<int32_t> y, crochet::ConstMatrix w,
    crochet::ConstVector<float> b);

// The fraction of samples whose class has the largest score.
float softmax_accuracy(crochet::ConstMatrix x, crochet::ConstVector<int32_t> y,
                       crochet::ConstMatrix w, crochet::ConstVector<float> b);

}  // namespace digits
