// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/spike_detector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(SpikeDetectorTest, NeedsValuesExceptForNaNAndInfinity) {
  SpikeDetector detector(10, 8, 3);
  EXPECT_TRUE(detector.is_spike(NAN));
  EXPECT_TRUE(detector.is_spike(kInfinity));
  EXPECT_TRUE(detector.is_spike(-kInfinity));
  detector.add(1);
  detector.add(2);
  EXPECT_FALSE(detector.is_spike(1e300));
  detector.add(3);
  EXPECT_TRUE(detector.is_spike(1e300));
}

TEST(SpikeDetectorTest, ASpikeIsAboveTheMedianByAFactorOfTheDeviation) {
  SpikeDetector detector(10, 8, 3);
  for (const double value : {1, 2, 3, 4, 5}) detector.add(value);  // Median 3, deviation 1.
  EXPECT_FALSE(detector.is_spike(13));
  EXPECT_TRUE(detector.is_spike(13.01));
  EXPECT_FALSE(detector.is_spike(-1e9)) << "a loss that falls is not one";
}

// The least deviation is a thousandth of the median.
TEST(SpikeDetectorTest, ValuesThatHardlyVaryAreNotSpikesOfEachOther) {
  SpikeDetector detector(10, 8, 3);
  for (int i = 0; i < 8; ++i) detector.add(2);
  EXPECT_FALSE(detector.is_spike(2.019));
  EXPECT_TRUE(detector.is_spike(2.021));
}

TEST(SpikeDetectorTest, OldValuesLeave) {
  SpikeDetector detector(10, 4, 3);
  for (const double value : {100, 200, 300, 400, 1, 2, 3, 4}) detector.add(value);
  EXPECT_EQ(detector.values(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_TRUE(detector.is_spike(50));
}

// Against the definition, for values with repetitions.
TEST(SpikeDetectorTest, AgreesWithTheDefinition) {
  std::mt19937_64 random(3);
  const double factor = 4;
  const size_t window = 17;
  SpikeDetector detector(factor, window, 5);
  std::vector<double> all;
  int num_spikes = 0;
  for (int i = 0; i < 20'000; ++i) {
    double value = static_cast<double>(random() % 32);
    if (random() % 50 == 0) value *= 10;
    std::vector<double> last(all.end() - static_cast<std::ptrdiff_t>(std::min(all.size(), window)),
                             all.end());
    bool expected = false;
    if (last.size() >= 5) {
      std::ranges::sort(last);
      const double median = last[last.size() / 2];
      std::vector<double> distances;
      for (const double each : last) distances.push_back(std::abs(each - median));
      std::ranges::sort(distances);
      const double deviation = std::max(distances[distances.size() / 2], 1e-3 * median);
      expected = value - median > factor * deviation;
    }
    ASSERT_EQ(detector.is_spike(value), expected) << i;
    num_spikes += expected ? 1 : 0;
    if (expected) continue;
    detector.add(value);
    all.push_back(value);
  }
  EXPECT_GT(num_spikes, 100);
}

TEST(SpikeDetectorTest, ContinuesFromValuesThatWereSaved) {
  SpikeDetector detector(10, 4, 3);
  detector.set_values(std::vector<double>{9, 8, 1, NAN, 2, 3});
  EXPECT_EQ(detector.values(), (std::vector<double>{1, 2, 3}));
  detector.set_values({});
  EXPECT_FALSE(detector.is_spike(1e9));
}

}  // namespace
}  // namespace crochet::internal
