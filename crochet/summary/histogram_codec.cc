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

std::vector<double> read_doubles(protozero::pbf_reader& message) {
  const auto numbers = message.get_packed_double();
  return {numbers.begin(), numbers.end()};
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
  while (message.next()) {
    switch (message.tag_and_type()) {
      case wire(HistogramField::kMin, kFixed64):
        histogram.min = message.get_double();
        break;
      case wire(HistogramField::kMax, kFixed64):
        histogram.max = message.get_double();
        break;
      case wire(HistogramField::kNum, kFixed64):
        histogram.num = message.get_double();
        break;
      case wire(HistogramField::kSum, kFixed64):
        histogram.sum = message.get_double();
        break;
      case wire(HistogramField::kSumSquares, kFixed64):
        histogram.sum_squares = message.get_double();
        break;
      case wire(HistogramField::kBucketLimit, kBytes):
        histogram.bucket_limit = read_doubles(message);
        break;
      case wire(HistogramField::kBucket, kBytes):
        histogram.bucket = read_doubles(message);
        break;
      default:
        message.skip();
    }
  }
  return histogram;
}

}  // namespace crochet::inline v0::internal
