// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "softmax.h"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>

namespace digits {
namespace {

using crochet::ConstMatrix, crochet::ConstVector, crochet::RowMajorMatrix;

ConstMatrix view(const RowMajorMatrix<float>& matrix) {
  return {matrix.data(), matrix.rows(), matrix.cols()};
}
template <typename T>
ConstVector<T> view(const Eigen::Matrix<T, Eigen::Dynamic, 1>& vector) {
  return {vector.data(), vector.size()};
}

class SoftmaxTest : public testing::Test {
 protected:
  float loss() const { return std::get<2>(gradients()); }
  std::tuple<RowMajorMatrix<float>, Eigen::VectorXf, float> gradients() const {
    return softmax_gradients(view(x_), view(y_), view(w_), view(b_));
  }

  const RowMajorMatrix<float> x_ = RowMajorMatrix<float>::Random(5, 4);
  const Eigen::VectorXi y_ = (Eigen::VectorXi(5) << 0, 2, 1, 2, 2).finished();
  RowMajorMatrix<float> w_ = RowMajorMatrix<float>::Random(4, 3);
  Eigen::VectorXf b_ = Eigen::VectorXf::Random(3);
};

TEST_F(SoftmaxTest, TheInitialLossIsThatOfGuessing) {
  w_.setZero();
  b_.setZero();
  EXPECT_NEAR(loss(), std::log(3.0f), 1e-6f);
}

TEST_F(SoftmaxTest, GradientsAgreeWithFiniteDifferences) {
  constexpr float kStep = 1e-2f;
  const auto [dw, db, unused] = gradients();
  const auto slope = [&](float& parameter) {
    const float old = std::exchange(parameter, parameter + kStep);
    const float above = loss();
    parameter = old - kStep;
    const float below = loss();
    parameter = old;
    return (above - below) / (2 * kStep);
  };
  for (Eigen::Index i = 0; i < w_.size(); ++i)
    EXPECT_NEAR(dw.data()[i], slope(w_.data()[i]), 1e-3f);
  for (Eigen::Index i = 0; i < b_.size(); ++i) EXPECT_NEAR(db[i], slope(b_[i]), 1e-3f);
}

TEST_F(SoftmaxTest, HugeScoresDoNotOverflow) {
  b_ << 0, 0, 1000;
  EXPECT_TRUE(std::get<0>(gradients()).allFinite());
}

TEST_F(SoftmaxTest, CountsCorrectlyClassifiedSamples) {
  w_.setZero();
  b_ << 0, 0, 1;
  EXPECT_FLOAT_EQ(softmax_accuracy(view(x_), view(y_), view(w_), view(b_)), 0.6f);
}

}  // namespace
}  // namespace digits
