// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "feeds.h"

#include <span>

namespace digits {

using crochet::Tensor;

Dataset batch_of_step(const Dataset& data, int64_t step) {
  Dataset batch = {.images = Eigen::MatrixXf(kPixels, kBatchSize),
                   .labels = Eigen::VectorXi(kBatchSize)};
  for (Eigen::Index i = 0; i < kBatchSize; ++i) {
    const Eigen::Index sample = (step * kBatchSize + i) % data.size();
    batch.images.col(i) = data.images.col(sample);
    batch.labels[i] = data.labels[sample];
  }
  return batch;
}

// One sample per row: the columns of the data in memory.
Tensor images_of(const Dataset& data) {
  const std::span<const float> pixels(data.images.data(), static_cast<size_t>(data.images.size()));
  return Tensor::from(pixels, {data.size(), kPixels});
}

Tensor labels_of(const Dataset& data) {
  const std::span<const int> labels(data.labels.data(), static_cast<size_t>(data.size()));
  return Tensor::from(labels, {data.size()});
}

}  // namespace digits
