// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include <gtest/gtest.h>

#include "crochet/tensor/dtype.h"

namespace crochet {
namespace {

static_assert(sizeof(Half) == 2 && sizeof(Bfloat16) == 2);
static_assert(std::is_trivially_copyable_v<Half> && std::is_trivially_copyable_v<Bfloat16>);
static_assert(dtype_of<Half> == DType::kHalf && dtype_of<Bfloat16> == DType::kBfloat16);
static_assert(!std::is_convertible_v<float, Half>, "rounding conversions are explicit");

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
void expect_every_number_survives() {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const T number = T::from_bits(static_cast<uint16_t>(bits));
    const T again(static_cast<float>(number));
    if (std::isnan(static_cast<float>(number)))
      EXPECT_TRUE(std::isnan(static_cast<float>(again))) << bits;
    else
      EXPECT_EQ(again.bits(), bits);
  }
}

TEST(HalfTest, EveryNumberSurvivesTheWayThroughFloat) { expect_every_number_survives<Half>(); }
TEST(Bfloat16Test, EveryNumberSurvivesTheWayThroughFloat) {
  expect_every_number_survives<Bfloat16>();
}

// Between neighbours: below the midpoint down, above it up, at the midpoint to the even one.
template <typename T>
void expect_rounded_to_nearest_even(uint16_t last) {
  for (uint16_t bits = 0; bits < last; ++bits) {
    const float low = T::from_bits(bits);
    const float high = T::from_bits(static_cast<uint16_t>(bits + 1));
    const float middle = low / 2 + high / 2;
    const auto up = static_cast<uint16_t>(bits + 1);
    EXPECT_EQ(T(std::nextafter(middle, -kInfinity)).bits(), bits);
    EXPECT_EQ(T(std::nextafter(middle, kInfinity)).bits(), up);
    EXPECT_EQ(T(middle).bits(), bits % 2 == 0 ? bits : up);
    EXPECT_EQ(T(-middle).bits(), 0x8000 | (bits % 2 == 0 ? bits : up));
  }
}

TEST(HalfTest, RoundsToNearestEven) { expect_rounded_to_nearest_even<Half>(0x7bff); }

TEST(Bfloat16Test, RoundsToNearestEven) {
  EXPECT_EQ(Bfloat16(1.0f + 0x1p-8f).bits(), 0x3f80);
  EXPECT_EQ(Bfloat16(1.0f + 0x1p-8f + 0x1p-23f).bits(), 0x3f81);
  EXPECT_EQ(Bfloat16(1.0f + 3 * 0x1p-8f).bits(), 0x3f82);
  EXPECT_EQ(Bfloat16(-1.0f - 3 * 0x1p-8f).bits(), 0xbf82);
}

TEST(HalfTest, KnowsItsLimits) {
  EXPECT_EQ(Half(1.5f).bits(), 0x3e00);
  EXPECT_EQ(Half(65504).bits(), 0x7bff);
  EXPECT_EQ(Half(65519.99f).bits(), 0x7bff);
  EXPECT_EQ(Half(65520).bits(), 0x7c00) << "halfway to 65536";
  EXPECT_EQ(Half(1e30f).bits(), 0x7c00);
  EXPECT_EQ(Half(-kInfinity).bits(), 0xfc00);
  EXPECT_EQ(Half(0x1p-24f).bits(), 0x0001);
  EXPECT_EQ(Half(0x1p-25f).bits(), 0x0000) << "halfway to the smallest";
  EXPECT_EQ(Half(0x1.1p-25f).bits(), 0x0001);
  EXPECT_EQ(Half(-0.0f).bits(), 0x8000);
  EXPECT_EQ(Half(1e-45f).bits(), 0);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(kNan))));
  EXPECT_EQ(Half().bits(), 0);
}

TEST(Bfloat16Test, KnowsItsLimits) {
  EXPECT_EQ(Bfloat16(1.5f).bits(), 0x3fc0);
  EXPECT_EQ(Bfloat16(std::numeric_limits<float>::max()).bits(), 0x7f80);
  EXPECT_EQ(Bfloat16(-kInfinity).bits(), 0xff80);
  EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat16(kNan))));
  EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat16(std::bit_cast<float>(0x7f800001)))))
      << "whose bits are all in the lower half";
}

TEST(HalfTest, ComputesAsAFloat) {
  EXPECT_EQ(Half(1.5f) + Half(2), 3.5f);
  EXPECT_EQ(Half(2), Half(2));
  EXPECT_NE(Half(kNan), Half(kNan));
  EXPECT_LT(Bfloat16(1), 2.0f);
}

}  // namespace
}  // namespace crochet
