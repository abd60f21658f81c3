// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "crochet/engines/local/operation_options.h"

namespace crochet::local {
namespace {

const TensorSpec kAny = {};
const TensorSpec kNumber = {.dtype = DType::kFloat, .num_elements = 1};
const TensorSpec kFlat = {.dtype = DType::kFloat};
const TensorSpec kSix = {.dtype = DType::kFloat, .num_elements = 6};
const TensorSpec kBatch = TensorSpec::of(DType::kFloat, {-1, 3});
const TensorSpec kMatrix = TensorSpec::of(DType::kFloat, {2, 3});
const TensorSpec kDoubles = TensorSpec::of(DType::kDouble, {2, 3});

TEST(TensorSpecTest, AdmitsMatchingValues) {
  const Tensor matrix = Tensor::zeros<float>({2, 3});
  for (const TensorSpec& spec : {kAny, kFlat, kSix, kBatch, kMatrix})
    EXPECT_TRUE(spec.admits(matrix)) << to_string(spec);
  for (const TensorSpec& spec : {kNumber, kDoubles})
    EXPECT_FALSE(spec.admits(matrix)) << to_string(spec);
  EXPECT_TRUE(kNumber.admits(Tensor::scalar(1.0f)));
  EXPECT_TRUE(kNumber.admits(Tensor::zeros<float>({1, 1})));
  EXPECT_FALSE(kNumber.admits(Tensor::zeros<float>({0})));
  EXPECT_FALSE(kBatch.admits(Tensor::zeros<float>({3})));
}

TEST(TensorSpecTest, AdmitsAnUnsetValueOnlyIfNothingIsKnown) {
  EXPECT_TRUE(kAny.admits(Tensor()));
  for (const TensorSpec& spec : {kNumber, kFlat, kSix, kBatch})
    EXPECT_FALSE(spec.admits(Tensor())) << to_string(spec);
}

TEST(TensorSpecTest, AgreesUnlessNoValueCanMatchBoth) {
  const auto agree = [](const TensorSpec& a, const TensorSpec& b) {
    EXPECT_EQ(a.agrees_with(b), b.agrees_with(a));
    return a.agrees_with(b);
  };
  EXPECT_TRUE(agree(kAny, kDoubles));
  EXPECT_TRUE(agree(kFlat, kMatrix));
  EXPECT_TRUE(agree(kSix, kMatrix));
  EXPECT_TRUE(agree(kSix, kBatch));
  EXPECT_TRUE(agree(kBatch, kMatrix));
  EXPECT_FALSE(agree(kMatrix, kDoubles));
  EXPECT_FALSE(agree(kNumber, kMatrix));
  EXPECT_FALSE(agree(kNumber, kSix));
  EXPECT_FALSE(agree(kBatch, TensorSpec::of(DType::kFloat, {-1, 4})));
  EXPECT_FALSE(agree(kBatch, TensorSpec::of(DType::kFloat, {-1})));
}

TEST(TensorSpecTest, ReadsAsText) {
  EXPECT_EQ(to_string(kAny), "any tensor");
  EXPECT_EQ(to_string(kNumber), "one float32");
  EXPECT_EQ(to_string(kFlat), "float32 of any shape");
  EXPECT_EQ(to_string(kSix), "float32 with 6 elements");
  EXPECT_EQ(to_string(kBatch), "float32 [?,3]");
}

}  // namespace
}  // namespace crochet::local
