// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "crochet/summary/summary_codecs.h"

namespace crochet::inline v0::internal {
namespace {

// Field numbers of TensorFlow's histogram.proto.
enum class HistogramField {
  kMin = 1,
  kMax = 2,
  kNum = 3,
  kSum = 4,
  kSumSquares = 5,
  kBucketLimit = 6,
  kBucket = 7,
};

auto doubles_at(HistogramField field, std::vector<double>& to) {
  return field_at(field, kBytes, [&to](auto& message) {
    const auto numbers = message.get_packed_double();
    to = {numbers.begin(), numbers.end()};
  });
}

}  // namespace

std::string encode_histogram(const Histogram& histogram) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  add_double_unless_zero(message, HistogramField::kMin, histogram.min);
  add_double_unless_zero(message, HistogramField::kMax, histogram.max);
  add_double_unless_zero(message, HistogramField::kNum, histogram.num);
  add_double_unless_zero(message, HistogramField::kSum, histogram.sum);
  add_double_unless_zero(message, HistogramField::kSumSquares, histogram.sum_squares);
  message.add_packed_double(number(HistogramField::kBucketLimit), histogram.bucket_limit.begin(),
                            histogram.bucket_limit.end());
  message.add_packed_double(number(HistogramField::kBucket), histogram.bucket.begin(),
                            histogram.bucket.end());
  return bytes;
}

Histogram decode_histogram(protozero::pbf_reader message) {
  Histogram histogram;
  read_fields(message, double_at(HistogramField::kMin, histogram.min),
              double_at(HistogramField::kMax, histogram.max),
              double_at(HistogramField::kNum, histogram.num),
              double_at(HistogramField::kSum, histogram.sum),
              double_at(HistogramField::kSumSquares, histogram.sum_squares),
              doubles_at(HistogramField::kBucketLimit, histogram.bucket_limit),
              doubles_at(HistogramField::kBucket, histogram.bucket));
  return histogram;
}

}  // namespace crochet::inline v0::internal
