// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "crochet/eigen.h"
#include "crochet/tensor/tensor.h"

namespace crochet {
namespace {

TEST(ToTensorTest, AcceptsNumbersVectorsAndTensors) {
  EXPECT_EQ(to_tensor(2.5f), Tensor::scalar(2.5f));
  EXPECT_EQ(to_tensor(true), Tensor::scalar(true));
  EXPECT_EQ(to_tensor(std::vector<int>{1, 2}), Tensor::from<int>({1, 2}));
  EXPECT_EQ(to_tensor(Tensor::scalar(int64_t{7})), Tensor::scalar(int64_t{7}));
}

TEST(ToTensorTest, AcceptsStrings) {
  EXPECT_EQ(to_tensor("cat"), Tensor::scalar(std::string("cat")));
  EXPECT_EQ(to_tensor(std::string("cat")), Tensor::scalar(std::string("cat")));
  EXPECT_EQ(to_tensor(std::string_view("cat").data()), Tensor::scalar(std::string("cat")));
  EXPECT_EQ(to_tensor(std::vector<std::string>{"cat", "dog"}), Tensor::from({"cat", "dog"}));
  EXPECT_EQ(to_tensor(std::optional<std::string>("cat")), Tensor::scalar(std::string("cat")));
  EXPECT_FALSE(to_tensor(std::optional<std::string>()).is_set());
}

TEST(ToTensorTest, MakesAnEmptyOptionalUnset) {
  EXPECT_FALSE(to_tensor(std::optional<float>()).is_set());
  EXPECT_EQ(to_tensor(std::optional<float>(1)), Tensor::scalar(1.0f));
}

TEST(ToTensorTest, AcceptsEigenMatricesAndExpressionsInRowOrder) {
  Eigen::Matrix2f matrix;
  matrix << 1, 2, 3, 4;
  EXPECT_EQ(to_tensor(matrix), Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(to_tensor(2 * matrix), Tensor::from<float>({2, 4, 6, 8}, {2, 2}));
  EXPECT_EQ(to_tensor(matrix.transpose()), Tensor::from<float>({1, 3, 2, 4}, {2, 2}));
  EXPECT_EQ(to_tensor(Eigen::Vector2d(5, 6)), Tensor::from<double>({5, 6}));
}

}  // namespace
}  // namespace crochet
