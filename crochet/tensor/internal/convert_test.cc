// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/internal/convert.h"

#include <array>
#include <limits>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using internal::can_convert;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor converted(const Tensor& tensor, DType to) {
  Tensor result(to, tensor.shape());
  internal::convert(tensor, to, result.mutable_bytes());
  return result;
}

TEST(ConvertTest, RoundsToTheNearest) {
  const Tensor doubles = Tensor::from<double>({0.1, -1.5, 16777217});
  EXPECT_EQ(converted(doubles, DType::kFloat), Tensor::from<float>({0.1f, -1.5f, 16777216}));
  EXPECT_EQ(converted(Tensor::scalar<float>(1.00390625f), DType::kBfloat16),
            Tensor::scalar(Bfloat16(1.0f)));
  EXPECT_EQ(converted(Tensor::scalar<int64_t>((int64_t{1} << 53) + 1), DType::kDouble),
            Tensor::scalar<double>(9007199254740992));
}

TEST(ConvertTest, IsExactWhereTheTypeHoldsTheNumber) {
  const Tensor small = Tensor::from<int8_t>({-128, 0, 127});
  for (const DType to : {DType::kInt16, DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble,
                         DType::kHalf, DType::kBfloat16})
    EXPECT_EQ(converted(converted(small, to), DType::kInt8), small) << dtype_name(to);
  const Tensor flags = Tensor::from(std::span<const bool>(std::array{true, false}), {2});
  EXPECT_EQ(converted(flags, DType::kFloat), Tensor::from<float>({1, 0}));
  EXPECT_EQ(converted(Tensor::from<float>({1, 0}), DType::kBool), flags);
  EXPECT_EQ(converted(Tensor::scalar<uint64_t>(~uint64_t{0}), DType::kUint64),
            Tensor::scalar<uint64_t>(~uint64_t{0}));
}

TEST(ConvertTest, KeepsInfinityAndNan) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor floats = converted(Tensor::from<double>({kInfinity, -kInfinity}), DType::kHalf);
  EXPECT_EQ(converted(floats, DType::kDouble), Tensor::from<double>({kInfinity, -kInfinity}));
  const Tensor nan = Tensor::scalar(std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(converted(nan, DType::kDouble).scalar<double>(),
            converted(nan, DType::kDouble).scalar<double>());
}

TEST(ConvertTest, RefusesWhatTheTypeCannotHold) {
  const auto expect_refused = [](const Tensor& tensor, DType to, const std::string& message) {
    EXPECT_THAT([&] { converted(tensor, to); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(message)));
  };
  expect_refused(Tensor::from<double>({1, 1e39}), DType::kFloat,
                 "element 1 is 1e+39, which float32 cannot hold");
  expect_refused(Tensor::scalar<float>(65520), DType::kHalf, "element 0 is 65520");
  expect_refused(Tensor::scalar<float>(1.5f), DType::kInt32, "element 0 is 1.5");
  expect_refused(Tensor::scalar<float>(std::numeric_limits<float>::quiet_NaN()), DType::kInt32,
                 "element 0 is nan");
  expect_refused(Tensor::scalar<int32_t>(-1), DType::kUint64, "element 0 is -1");
  expect_refused(Tensor::scalar<int32_t>(2), DType::kBool, "element 0 is 2, which bool");
  expect_refused(Tensor::scalar<double>(9223372036854775808.0), DType::kInt64,
                 "element 0 is 9.223372036854776e+18");
}

TEST(ConvertTest, ReadsAnyByteAsABool) {
  Tensor flags(DType::kBool, {2});
  flags.mutable_bytes()[0] = std::byte{2};
  flags.mutable_bytes()[1] = std::byte{0};
  EXPECT_EQ(converted(flags, DType::kInt32), Tensor::from<int32_t>({1, 0}));
}

TEST(ConvertTest, IsForRealNumbers) {
  EXPECT_TRUE(can_convert(DType::kBool, DType::kHalf));
  EXPECT_FALSE(can_convert(DType::kString, DType::kFloat));
  EXPECT_FALSE(can_convert(DType::kFloat, DType::kComplex64));
  EXPECT_FALSE(can_convert(DType::kQint8, DType::kInt8));
}

}  // namespace
}  // namespace crochet
