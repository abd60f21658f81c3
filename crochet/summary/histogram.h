// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/base/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

// The distribution of the numbers of a tensor: TensorFlow's HistogramProto.
//
// bucket[i] numbers are below bucket_limit[i] and not below the limit before it. The limits are
// those of TensorFlow: 0, and 1e-12 times powers of 1.1 up to 1e20, with either sign; the largest
// one is the largest double. Consecutive empty buckets are merged.
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
// less than the number of elements. Without numbers, min to sum_squares are zero.
// Throws: InvalidArgumentError for strings, complex numbers, and an unset tensor.
CROCHET_EXPORT Histogram make_histogram(const Tensor& values);

}  // namespace crochet::inline v0
