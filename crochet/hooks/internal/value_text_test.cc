// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/value_text.h"

#include <cmath>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(ValueTextTest, ShowsNumbersConcisely) {
  EXPECT_EQ(value_text(Tensor::scalar(0.25f)), "0.25");
  EXPECT_EQ(value_text(Tensor::scalar(1.0 / 3)), "0.333333");
  EXPECT_EQ(value_text(Tensor::scalar(int32_t{-7})), "-7");
  EXPECT_EQ(value_text(Tensor::scalar(true)), "true");
  EXPECT_EQ(value_text(Tensor::scalar(std::nan(""))), "nan");
}

TEST(ValueTextTest, KeepsAllDigitsOfWholeNumbers) {
  EXPECT_EQ(value_text(Tensor::scalar(int64_t{9007199254740993})), "9007199254740993");
  EXPECT_EQ(value_text(Tensor::scalar(uint64_t{18446744073709551615u})), "18446744073709551615");
  EXPECT_EQ(value_text(Tensor::scalar(int32_t{2147483647})), "2147483647");
}

TEST(ValueTextTest, ShowsSmallNumbersWithoutExponent) {
  EXPECT_EQ(value_text(Tensor::scalar(0.000012)), "0.000012");
  EXPECT_EQ(value_text(Tensor::scalar(-0.00002)), "-0.00002");
  EXPECT_EQ(value_text(Tensor::scalar(1e-12)), "1e-12");
  EXPECT_EQ(value_text(Tensor::scalar(0.0)), "0");
}

TEST(ValueTextTest, ShowsTheEndsOfLongVectors) {
  EXPECT_EQ(value_text(Tensor::from<float>({})), "[]");
  EXPECT_EQ(value_text(Tensor::from<float>({0.5f})), "[0.5]");
  EXPECT_EQ(value_text(Tensor::from<int64_t>({1, 2, 3, 4, 5, 6})), "[1 2 3 4 5 6]");
  EXPECT_EQ(value_text(Tensor::from<int64_t>({1, 2, 3, 4, 5, 6, 7})), "[1 2 3 ... 5 6 7]");
}

TEST(ValueTextTest, ShowsTheShapeOfMatrices) {
  EXPECT_EQ(value_text(Tensor::from<float>({1, 2, 3, 4}, Shape{2, 2})), "[1 2 3 4] of shape [2,2]");
}

TEST(ValueTextTest, ShowsADashForAnUnsetValue) { EXPECT_EQ(value_text(Tensor()), "-"); }

}  // namespace
}  // namespace crochet::internal
