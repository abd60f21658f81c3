// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "batches.h"

#include <numeric>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "random.h"

namespace digits {

Batches::Batches(const Dataset& data, Eigen::Index batch_size, uint64_t seed)
    : data_(data),
      batch_size_(batch_size),
      order_(static_cast<size_t>(data.size())),
      position_(data.size()),
      generator_(seed) {
  std::iota(order_.begin(), order_.end(), 0);
}

Batch Batches::next() {
  if (std::ssize(order_) != data_.size())
    throw crochet::InvalidArgumentError(
        fmt::format("the checkpoint is of a run with {} samples, the data has {}", order_.size(),
                    data_.size()));
  Batch batch{.images = Eigen::MatrixXf(data_.images.rows(), batch_size_),
              .labels = Eigen::VectorXi(batch_size_)};
  for (Eigen::Index i = 0; i < batch_size_; ++i) {
    const int32_t sample = next_sample();
    batch.images.col(i) = data_.images.col(sample);
    batch.labels[i] = data_.labels[sample];
  }
  return batch;
}

int32_t Batches::next_sample() {
  if (position_ == data_.size()) {
    shuffle(order_, generator_);
    position_ = 0;
  }
  return order_[static_cast<size_t>(position_++)];
}

}  // namespace digits
