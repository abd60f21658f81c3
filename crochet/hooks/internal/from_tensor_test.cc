// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/from_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::ElementsAre;

TEST(FromTensorTest, ReturnsNumbersOfTheSameType) {
  EXPECT_EQ(from_tensor<float>(Tensor::scalar(0.1f)), 0.1f);
  EXPECT_EQ(from_tensor<int64_t>(Tensor::scalar(int64_t{9007199254740993})), 9007199254740993);
  EXPECT_TRUE(from_tensor<bool>(Tensor::scalar(true)));
}

TEST(FromTensorTest, ConvertsNumbers) {
  EXPECT_EQ(from_tensor<double>(Tensor::scalar(0.5f)), 0.5);
  EXPECT_EQ(from_tensor<float>(Tensor::scalar(int32_t{3})), 3.0f);
  EXPECT_EQ(from_tensor<int>(Tensor::scalar(int64_t{-3})), -3);
  EXPECT_EQ(from_tensor<uint8_t>(Tensor::scalar(255.0)), 255);
}

TEST(FromTensorTest, RejectsLossyConversions) {
  EXPECT_THROW(from_tensor<int>(Tensor::scalar(0.5f)), InvalidArgumentError);
  EXPECT_THROW(from_tensor<int32_t>(Tensor::scalar(int64_t{2147483648})), InvalidArgumentError);
  EXPECT_EQ(from_tensor<int32_t>(Tensor::scalar(int64_t{-2147483648})), -2147483647 - 1);
  EXPECT_THROW(from_tensor<uint8_t>(Tensor::scalar(-1.0)), InvalidArgumentError);
  EXPECT_THROW(from_tensor<int64_t>(Tensor::scalar(std::nan(""))), InvalidArgumentError);
  EXPECT_THROW(from_tensor<int64_t>(Tensor::scalar(9223372036854775808.0)), InvalidArgumentError);
  EXPECT_THROW(from_tensor<bool>(Tensor::scalar(2.0)), InvalidArgumentError);
}

TEST(FromTensorTest, ReturnsVectorsAndTensors) {
  const Tensor tensor = Tensor::from<float>({1, 2});
  EXPECT_THAT(from_tensor<std::vector<float>>(tensor), ElementsAre(1, 2));
  EXPECT_EQ(from_tensor<Tensor>(tensor), tensor);
  EXPECT_THROW(from_tensor<std::vector<double>>(tensor), InvalidArgumentError);
  EXPECT_THROW(from_tensor<std::vector<float>>(Tensor::scalar(1.0f)), InvalidArgumentError);
  EXPECT_THROW(from_tensor<float>(tensor), InvalidArgumentError);
}

TEST(FromTensorTest, AnUnsetTensorIsAnEmptyOptional) {
  EXPECT_EQ(from_tensor<std::optional<float>>(Tensor()), std::nullopt);
  EXPECT_EQ(from_tensor<std::optional<float>>(Tensor::scalar(0.5f)), 0.5f);
  EXPECT_THROW(from_tensor<float>(Tensor()), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet::internal
