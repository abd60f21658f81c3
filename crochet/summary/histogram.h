// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/tensor/tensor.h"

namespace crochet {

// How the numbers of a tensor are distributed: TensorFlow's HistogramProto.
//
// bucket[i] numbers are below bucket_limit[i] and not below the limit before it. The limits are
// those of TensorFlow: 0, and 1e-12 times powers of 1.1 up to 1e20, of either sign. Only the
// buckets around numbers are there; the last limit is the largest double.
struct Histogram {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit = {};
  std::vector<double> bucket = {};

  bool operator==(const Histogram&) const = default;
};

// The histogram of a tensor's finite elements; NaN and infinities are left out, so `num` may be
// less than there are elements. Of no numbers it is all zero.
// Throws: InvalidArgumentError for strings, complex numbers, and an unset tensor.
Histogram make_histogram(const Tensor& values);

}  // namespace crochet
