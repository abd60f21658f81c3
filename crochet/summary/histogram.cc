// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/summary/event.h"
#include "crochet/tensor/internal/visit_type.h"

namespace crochet::inline v0 {
namespace {

constexpr double kSmallestLimit = 1e-12;
constexpr double kLargestLimit = 1e20;
constexpr double kGrowth = 1.1;

// The limits above 0, except for the last one.
const std::vector<double>& positive_limits() {
  static const auto* const limits = [] {
    auto* const made = new std::vector<double>;
    // Multiplied repeatedly, so that they have the same bits as TensorFlow's.
    for (double limit = kSmallestLimit; limit < kLargestLimit; limit *= kGrowth)
      made->push_back(limit);
    return made;
  }();
  return *limits;
}

// All limits, in ascending order.
const std::vector<double>& all_limits() {
  static const auto* const limits = [] {
    const std::vector<double>& positive = positive_limits();
    auto* const made = new std::vector<double>{-std::numeric_limits<double>::max()};
    for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit)
      made->push_back(-*limit);
    made->push_back(0);
    made->insert(made->end(), positive.begin(), positive.end());
    made->push_back(std::numeric_limits<double>::max());
    return made;
  }();
  return *limits;
}

// The number of positive limits below a non-negative size, or equal to it if `or_equal`. Takes half
// the time of a search: the logarithm is off by at most one.
size_t limits_below(double size, bool or_equal) {
  static const double log_growth = std::log(kGrowth);
  static const double log_smallest = std::log(kSmallestLimit);
  const std::vector<double>& limits = positive_limits();
  const auto is_below = [&](double limit) { return or_equal ? limit <= size : limit < size; };
  if (!is_below(limits.front())) return 0;
  const double guess = (std::log(size) - log_smallest) / log_growth;
  size_t count = std::min(static_cast<size_t>(guess), limits.size());
  while (count < limits.size() && is_below(limits[count])) ++count;
  while (count > 0 && !is_below(limits[count - 1])) --count;
  return count;
}

// Counts numbers in all buckets.
class Counter {
 public:
  void add(double number) {
    if (!std::isfinite(number)) return;
    histogram_.min = histogram_.num == 0 ? number : std::min(histogram_.min, number);
    histogram_.max = histogram_.num == 0 ? number : std::max(histogram_.max, number);
    ++histogram_.num;
    histogram_.sum += number;
    histogram_.sum_squares += number * number;
    ++counts_[bucket_of(number)];
  }

  Histogram finish() {
    for (size_t i = 0; i < counts_.size(); ++i) {
      const bool is_last = i + 1 == counts_.size();
      // Of consecutive empty buckets only the last one is kept: it ends where the next begins.
      if (counts_[i] == 0 && !is_last && counts_[i + 1] == 0) continue;
      histogram_.bucket_limit.push_back(limits_[i]);
      histogram_.bucket.push_back(counts_[i]);
    }
    return std::move(histogram_);
  }

 private:
  // The index of the first limit above the number; the last one for the largest double.
  static size_t bucket_of(double number) {
    const size_t num_positive = positive_limits().size();
    return number < 0 ? num_positive + 1 - limits_below(-number, /*or_equal=*/false)
                      : num_positive + 2 + limits_below(number, /*or_equal=*/true);
  }

  const std::vector<double>& limits_ = all_limits();
  std::vector<double> counts_ = std::vector<double>(limits_.size());
  Histogram histogram_;
};

}  // namespace

Histogram make_histogram(const Tensor& values) {
  Counter counter;
  const bool is_real = internal::visit_real_type(values.dtype(), [&]<typename T>(T) {
    for (const T value : values.flat<T>()) counter.add(static_cast<double>(value));
  });
  if (!is_real)
    throw InvalidArgumentError(
        fmt::format("histogram: found {}, expected real numbers", describe(values)));
  return counter.finish();
}

}  // namespace crochet::inline v0
