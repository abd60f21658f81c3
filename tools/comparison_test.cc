// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/statistics.h"

namespace crochet::tool {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T>
Comparison compare_values(const std::vector<T>& a, const std::vector<T>& b,
                          const Tolerance& tolerance = {}) {
  return compare(Tensor::from<T>(a), Tensor::from<T>(b), tolerance);
}

TEST(ComparisonTest, WithoutToleranceBitsMustBeEqual) {
  const Comparison found = compare_values<float>({1, 2, 0.f, kNan}, {1, 2.5, -0.f, kNan});
  EXPECT_EQ(found.num_different, 2u);
  EXPECT_EQ(found.max_absolute, 0.5);
  EXPECT_EQ(found.max_relative, 0.2);
  EXPECT_EQ(found.first, 1u);
  EXPECT_EQ(exact_text(found.first_a), "2");
  EXPECT_EQ(exact_text(found.first_b), "2.5");
}

TEST(ComparisonTest, FindsOneElementAtAnyPosition) {
  const std::vector<int16_t> zeros(3000);
  for (const size_t i : {0, 1, 1023, 1024, 2047, 2048, 2999}) {
    std::vector<int16_t> other = zeros;
    other[i] = 1;
    const Comparison found = compare_values<int16_t>(zeros, other);
    EXPECT_EQ(found.num_different, 1u) << i;
    EXPECT_EQ(found.first, i);
  }
}

TEST(ComparisonTest, ToleranceIsTheSameInBothDirections) {
  const auto num_different = [](float a, float b, const Tolerance& tolerance) {
    const uint64_t found = compare_values<float>({a}, {b}, tolerance).num_different;
    EXPECT_EQ(compare_values<float>({b}, {a}, tolerance).num_different, found);
    return found;
  };
  EXPECT_EQ(num_different(1, 1.5, {.absolute = 0.5}), 0u);
  EXPECT_EQ(num_different(1, 1.5, {.absolute = 0.49}), 1u);
  EXPECT_EQ(num_different(8, 10, {.relative = 0.2}), 0u);
  EXPECT_EQ(num_different(8, 10, {.relative = 0.19}), 1u);
  EXPECT_EQ(num_different(8, 10, {.absolute = 1, .relative = 0.1}), 0u);
  EXPECT_EQ(num_different(0.f, -0.f, {.absolute = 1e-9}), 0u);
}

TEST(ComparisonTest, NonFiniteValuesEqualOnlyThemselves) {
  const Tolerance any{.absolute = 1e30, .relative = 1e30};
  EXPECT_EQ(compare_values<float>({kNan, kInf}, {-kNan, kInf}, any).num_different, 0u);
  for (const auto& [a, b] :
       std::vector<std::pair<float, float>>{{kNan, 1}, {kInf, 1}, {kInf, -kInf}}) {
    const Comparison found = compare_values<float>({a}, {b}, any);
    EXPECT_EQ(found.num_different, 1u) << a << ' ' << b;
    EXPECT_EQ(found.max_absolute, INFINITY);
    EXPECT_EQ(found.max_relative, INFINITY);
  }
}

TEST(ComparisonTest, LargeIntegersAreNotRounded) {
  constexpr int64_t kLarge = int64_t{1} << 60;
  EXPECT_EQ(compare_values<int64_t>({kLarge}, {kLarge + 1}).max_absolute, 1);
  EXPECT_EQ(compare_values<int64_t>({kLarge}, {kLarge + 1}, {.absolute = 0.5}).num_different, 1u);
  EXPECT_EQ(compare_values<int64_t>({INT64_MIN}, {INT64_MAX}).max_absolute, std::ldexp(1.0, 64));
  EXPECT_EQ(compare_values<int8_t>({-128}, {127}).max_absolute, 255);
  EXPECT_EQ(compare_values<uint8_t>({0}, {255}).max_absolute, 255);
}

TEST(ComparisonTest, ComplexNumbersAndStringsAreCompared) {
  const Comparison numbers =
      compare_values<std::complex<float>>({{0, 0}, {1, 1}}, {{3, 4}, {1, 1}});
  EXPECT_EQ(numbers.num_different, 1u);
  EXPECT_EQ(numbers.max_absolute, 5);
  const Comparison strings =
      compare(Tensor::from({"a", "b", "c"}), Tensor::from({"a", "x", "y"}), {.absolute = 1});
  EXPECT_EQ(strings.num_different, 2u);
  EXPECT_EQ(strings.first, 1u);
  EXPECT_EQ(exact_text(strings.first_b), "\"x\"");
}

TEST(ComparisonTest, PositionsAreRowMajor) {
  EXPECT_EQ(position_text(0, {}), "[]");
  EXPECT_EQ(position_text(5, {2, 3}), "[1,2]");
  EXPECT_EQ(position_text(7, {2, 2, 2}), "[1,1,1]");
}

std::string text(const Statistics& found) {
  return fmt::format("{} {} {} {} {}", short_text(found.min), short_text(found.max),
                     short_text(found.mean), found.num_nan, found.num_infinite);
}

// The same bytes under another type of the same size.
Tensor as_type(DType dtype, const Tensor& tensor) {
  Tensor result(dtype, tensor.shape());
  std::ranges::copy(tensor.bytes(), result.mutable_bytes().begin());
  return result;
}

TEST(StatisticsTest, OnlyFiniteNumbersCount) {
  EXPECT_EQ(text(statistics_of(Tensor::from<float>({kNan, 3, -1, kInf, -kInf, kNan}))),
            "-1 3 1 2 2");
  EXPECT_EQ(text(statistics_of(Tensor::from<float>({kNan}))), "- - - 1 0");
  EXPECT_EQ(text(statistics_of(Tensor::from<float>(std::vector<float>{}))), "- - - 0 0");
  EXPECT_EQ(text(statistics_of(Tensor::from<double>({1e308, 1e308}))), "1e+308 1e+308 1e+308 0 0");
}

TEST(StatisticsTest, EveryTypeHasItsStatistics) {
  EXPECT_EQ(text(statistics_of(Tensor::from<int64_t>({INT64_MIN, INT64_MAX}))),
            "-9223372036854775808 9223372036854775807 -0.5 0 0");
  EXPECT_EQ(text(statistics_of(Tensor::from<uint64_t>({UINT64_MAX}))),
            "18446744073709551615 18446744073709551615 1.84467e+19 0 0");
  EXPECT_EQ(text(statistics_of(Tensor::from<int8_t>({-128, 127}))), "-128 127 -0.5 0 0");
  EXPECT_EQ(text(statistics_of(as_type(DType::kQuint8, Tensor::from<uint8_t>({255, 1})))),
            "1 255 128 0 0");
  EXPECT_EQ(text(statistics_of(Tensor::from<Half>({Half(-2), Half(kNan), Half(5)}))),
            "-2 5 1.5 1 0");
  EXPECT_EQ(text(statistics_of(Tensor::from<Bfloat16>({Bfloat16(-2), Bfloat16(kInf)}))),
            "-2 -2 -2 0 1");
  EXPECT_EQ(text(statistics_of(Tensor::from<std::complex<float>>({{1, 2}, {3, -2}, {kNan, 0}}))),
            "- - 2+0i 1 0");
  EXPECT_EQ(text(statistics_of(Tensor::from({"a", "b"}))), "- - - 0 0");
}

// A file may hold any byte for a bool.
TEST(StatisticsTest, BoolsAreTrueUnlessZero) {
  const Tensor odd = as_type(DType::kBool, Tensor::from<uint8_t>({0, 1, 2, 255}));
  EXPECT_EQ(text(statistics_of(odd)), "false true 0.75 0 0");
  EXPECT_EQ(exact_text(first_values(odd, 3)[2]), "true");
}

TEST(StatisticsTest, FirstValuesAreLimitedToTheElements) {
  const auto count = [](const Tensor& tensor, uint64_t wanted) {
    return first_values(tensor, wanted).size();
  };
  EXPECT_EQ(count(Tensor::from<float>({1, 2, 3}), 2), 2u);
  EXPECT_EQ(count(Tensor::from<float>({1, 2, 3}), UINT64_MAX), 3u);
  EXPECT_EQ(count(Tensor::from({"a", "b"}), 1), 1u);
  EXPECT_EQ(count(Tensor::from<float>({1}), 0), 0u);
}

}  // namespace
}  // namespace crochet::tool
