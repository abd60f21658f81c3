// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/tensor_parts.h"

#include <numeric>

#include <gtest/gtest.h>

namespace crochet::tensorflow::internal {
namespace {

Tensor counted(Shape shape) {
  Tensor tensor(DType::kInt32, std::move(shape));
  const std::span<int32_t> values = tensor.mutable_flat<int32_t>();
  std::iota(values.begin(), values.end(), 0);
  return tensor;
}

TEST(TensorPartsTest, CutsABox) {
  const int64_t offset[] = {1, 1};
  EXPECT_EQ(cut_part(counted({3, 4}), offset, {2, 2}),
            Tensor::from<int32_t>({5, 6, 9, 10}, {2, 2}));
}

TEST(TensorPartsTest, CutsABoxOfThreeDimensions) {
  const int64_t offset[] = {1, 0, 2};
  EXPECT_EQ(cut_part(counted({2, 2, 3}), offset, {1, 2, 1}),
            Tensor::from<int32_t>({8, 11}, {1, 2, 1}));
}

TEST(TensorPartsTest, CutsAScalarAndNothing) {
  EXPECT_EQ(cut_part(counted({}), {}, {}), Tensor::scalar<int32_t>(0));
  const int64_t offset[] = {3, 0};
  EXPECT_EQ(cut_part(counted({3, 4}), offset, {0, 4}).num_elements(), 0);
}

TEST(TensorPartsTest, PlacesACutBoxBack) {
  const Tensor whole = counted({5, 3});
  Tensor copy = Tensor::zeros<int32_t>({5, 3});
  for (const auto& [first, rows] : {std::pair<int64_t, int64_t>{0, 3}, {3, 2}}) {
    const int64_t offset[] = {first, 0};
    place_part(copy, cut_part(whole, offset, {rows, 3}), offset);
  }
  EXPECT_EQ(copy, whole);
}

}  // namespace
}  // namespace crochet::tensorflow::internal
