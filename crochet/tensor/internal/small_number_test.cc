// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/internal/small_number.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace crochet {
namespace {

using internal::small_number_to_float;

// One, the smallest and the largest positive number of each type, as numpy.finfo of ml_dtypes says.
struct Landmarks {
  DType dtype;
  int sign;  // The bit of the sign.
  int one, largest;
  float smallest_value, largest_value;
};
constexpr Landmarks kLandmarks[] = {
    {DType::kFloat8E5m2, 0x80, 0x3c, 0x7b, 0x1p-16f, 57344},
    {DType::kFloat8E4m3fn, 0x80, 0x38, 0x7e, 0x1p-9f, 448},
    {DType::kFloat8E4m3fnuz, 0x80, 0x40, 0x7f, 0x1p-10f, 240},
    {DType::kFloat8E4m3b11fnuz, 0x80, 0x58, 0x7f, 0x1p-13f, 30},
    {DType::kFloat8E5m2fnuz, 0x80, 0x40, 0x7f, 0x1p-17f, 57344},
    {DType::kFloat6E2m3fn, 0x20, 0x08, 0x1f, 0.125f, 7.5f},
    {DType::kFloat6E3m2fn, 0x20, 0x0c, 0x1f, 0.0625f, 28},
    {DType::kFloat4E2m1fn, 0x08, 0x02, 0x07, 0.5f, 6},
};

TEST(SmallNumberTest, HasTheLandmarksOfEachType) {
  for (const Landmarks& type : kLandmarks) {
    const auto value = [&](int bits) {
      return small_number_to_float(type.dtype, static_cast<uint8_t>(bits));
    };
    EXPECT_TRUE(internal::is_small_number(type.dtype));
    EXPECT_EQ(value(0), 0) << dtype_name(type.dtype);
    EXPECT_EQ(value(1), type.smallest_value) << dtype_name(type.dtype);
    EXPECT_EQ(value(type.one), 1) << dtype_name(type.dtype);
    EXPECT_EQ(value(type.largest), type.largest_value) << dtype_name(type.dtype);
    EXPECT_EQ(value(type.largest | type.sign), -type.largest_value) << dtype_name(type.dtype);
    for (int bits = 1; bits <= type.largest; ++bits)
      EXPECT_LT(value(bits - 1), value(bits)) << dtype_name(type.dtype) << ' ' << bits;
  }
}

TEST(SmallNumberTest, NamesWhatIsNotFinite) {
  const auto is_nan = [](DType dtype, uint8_t bits) {
    return std::isnan(small_number_to_float(dtype, bits));
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(small_number_to_float(DType::kFloat8E5m2, 0x7c), kInfinity);
  EXPECT_EQ(small_number_to_float(DType::kFloat8E5m2, 0xfc), -kInfinity);
  for (const uint8_t bits : {0x7d, 0x7e, 0x7f, 0xff}) EXPECT_TRUE(is_nan(DType::kFloat8E5m2, bits));
  for (const uint8_t bits : {0x7f, 0xff}) EXPECT_TRUE(is_nan(DType::kFloat8E4m3fn, bits));
  EXPECT_TRUE(std::signbit(small_number_to_float(DType::kFloat8E4m3fn, 0x80)));
  for (const DType dtype :
       {DType::kFloat8E4m3fnuz, DType::kFloat8E4m3b11fnuz, DType::kFloat8E5m2fnuz})
    EXPECT_TRUE(is_nan(dtype, 0x80)) << dtype_name(dtype);
}

TEST(SmallNumberTest, ReadsScalesAndIntegers) {
  EXPECT_EQ(small_number_to_float(DType::kFloat8E8m0fnu, 127), 1);
  EXPECT_EQ(small_number_to_float(DType::kFloat8E8m0fnu, 0), 0x1p-127f);
  EXPECT_EQ(small_number_to_float(DType::kFloat8E8m0fnu, 254), 0x1p127f);
  EXPECT_TRUE(std::isnan(small_number_to_float(DType::kFloat8E8m0fnu, 255)));
  for (int value = -8; value < 8; ++value) {
    EXPECT_EQ(small_number_to_float(DType::kInt4, static_cast<uint8_t>(value)), value);
    EXPECT_EQ(small_number_to_float(DType::kInt4, static_cast<uint8_t>(value & 0xf)), value);
    EXPECT_EQ(small_number_to_float(DType::kUint4, static_cast<uint8_t>(value)), value & 0xf);
  }
  EXPECT_EQ(small_number_to_float(DType::kInt2, 2), -2);
  EXPECT_EQ(small_number_to_float(DType::kUint2, 2), 2);
  EXPECT_FALSE(internal::is_small_number(DType::kInt8));
}

}  // namespace
}  // namespace crochet
