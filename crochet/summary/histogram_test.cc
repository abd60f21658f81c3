// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/summary/event.h"
#include "crochet/tensor/dtype.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double total(const Histogram& histogram) {
  return std::accumulate(histogram.bucket.begin(), histogram.bucket.end(), 0.0);
}

TEST(HistogramTest, DescribesNumbers) {
  const Histogram histogram = make_histogram(Tensor::from<float>({0, 1, 2, 1}));
  EXPECT_EQ(histogram.min, 0);
  EXPECT_EQ(histogram.max, 2);
  EXPECT_EQ(histogram.num, 4);
  EXPECT_EQ(histogram.sum, 4);
  EXPECT_EQ(histogram.sum_squares, 6);
  // Consecutive empty buckets are merged.
  EXPECT_THAT(histogram.bucket, ElementsAre(0, 1, 0, 2, 0, 1, 0));
  EXPECT_THAT(histogram.bucket_limit,
              ElementsAre(0, 1e-12, 0.917246389039776, 1.0089710279437536, 1.9661990955585713,
                          2.1628190051144287, kLargest));
}

TEST(HistogramTest, PutsEveryNumberBelowTheLimitOfItsBucket) {
  for (const double number : {-kLargest, -1e300, -1e20, -1.0, -1e-12, -1e-300, -0.0, 0.0, 5e-324,
                              1e-12, 1.0, 9.9e19, 1e20, 1e300}) {
    const Histogram histogram = make_histogram(Tensor::scalar(number));
    size_t i = 0;
    while (histogram.bucket[i] == 0) ++i;
    EXPECT_LT(number, histogram.bucket_limit[i]);
    if (i > 0) {
      EXPECT_GE(number, histogram.bucket_limit[i - 1]);
    }
    EXPECT_EQ(total(histogram), 1) << number;
  }
}

// At each limit, and at the nearest numbers on both sides.
TEST(HistogramTest, SeparatesNumbersAtItsLimits) {
  for (const double sign : {-1.0, 1.0}) {
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) {
      const double above = std::nextafter(sign * limit, kInfinity);
      const double below = std::nextafter(sign * limit, -kInfinity);
      const Histogram histogram =
          make_histogram(Tensor::from<double>({below, sign * limit, above}));
      // Only the number below the limit is in the bucket that ends there.
      const auto end = std::ranges::find(histogram.bucket_limit, sign * limit);
      ASSERT_NE(end, histogram.bucket_limit.end()) << limit;
      const auto i = end - histogram.bucket_limit.begin();
      EXPECT_EQ(histogram.bucket[static_cast<size_t>(i)], 1) << limit;
      EXPECT_EQ(histogram.bucket[static_cast<size_t>(i) + 1], 2) << limit;
    }
  }
}

TEST(HistogramTest, HasABucketForTheLargestNumber) {
  const Histogram histogram = make_histogram(Tensor::scalar(kLargest));
  EXPECT_EQ(histogram.max, kLargest);
  EXPECT_EQ(histogram.sum_squares, kInfinity);
  EXPECT_THAT(histogram.bucket, ElementsAre(0, 1));
  EXPECT_EQ(histogram.bucket_limit.back(), kLargest);
}

TEST(HistogramTest, LeavesOutNanAndInfinities) {
  const Histogram histogram =
      make_histogram(Tensor::from<double>({NAN, 1, kInfinity, -kInfinity, 2, -NAN}));
  EXPECT_EQ(histogram, make_histogram(Tensor::from<double>({1, 2})));
}

TEST(HistogramTest, IsAllZeroWithoutNumbers) {
  for (const Tensor& values :
       {Tensor::zeros<float>({0}), Tensor::zeros<int32_t>({3, 0}), Tensor::scalar(NAN)}) {
    const Histogram histogram = make_histogram(values);
    EXPECT_EQ(histogram, (Histogram{.bucket_limit = {kLargest}, .bucket = {0}}));
  }
}

TEST(HistogramTest, AcceptsEveryRealType) {
  const Histogram expected = make_histogram(Tensor::from<double>({0, 1, 1}));
  EXPECT_EQ(make_histogram(Tensor::from<float>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<Half>({Half(0), Half(1), Half(1)})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<Bfloat16>({Bfloat16(0), Bfloat16(1), Bfloat16(1)})),
            expected);
  EXPECT_EQ(make_histogram(Tensor::from<int8_t>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<int16_t>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<int32_t>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<int64_t>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<uint8_t>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<uint16_t>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<uint32_t>({0, 1, 1})), expected);
  EXPECT_EQ(make_histogram(Tensor::from<uint64_t>({0, 1, 1})), expected);
  const bool booleans[] = {false, true, true};
  EXPECT_EQ(make_histogram(Tensor::from(std::span<const bool>(booleans), Shape{3})), expected);
}

TEST(HistogramTest, RejectsOtherTypes) {
  for (const Tensor& values : {Tensor(), Tensor::from({"a"}), Tensor::scalar(std::complex(1.0f))})
    EXPECT_THAT([&] { make_histogram(values); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(describe(values))));
}

}  // namespace
}  // namespace crochet
