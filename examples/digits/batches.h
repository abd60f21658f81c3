// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "digits_data.h"

namespace digits {

using Batch = Dataset;

// Endless batches of a data set: every sample once per epoch, each epoch in a
// new random order. A batch may begin in one epoch and end in the next.
class Batches {
 public:
  // Requires: `data` outlives this and is not empty; batch_size is above 0.
  Batches(const Dataset& data, Eigen::Index batch_size, uint64_t seed);

  // Throws: InvalidArgumentError if a restored order is that of other data.
  Batch next();

  // The complete state: with it, a resumed run sees the same
  // batches that the stopped one would have seen.
  template <typename Tracker>
  void track(Tracker& tracker) {
    tracker("order", order_)("position", position_)("generator", generator_);
  }

 private:
  int32_t next_sample();

  const Dataset& data_;
  const Eigen::Index batch_size_;
  std::vector<int32_t> order_;  // Of the samples in this epoch.
  int64_t position_;            // Of the next sample in order_.
  std::mt19937_64 generator_;
};

}  // namespace digits
