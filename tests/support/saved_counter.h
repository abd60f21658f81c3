// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/session/saveable.h"

namespace crochet::inline v0 {

// For tests: a number that is saved with the graph.
class SavedCounter final : public Saveable {
 public:
  TensorMap save() const override { return {{"", Tensor::scalar(count)}}; }
  void restore(const TensorMap& state) override {
    count = single_value(state, DType::kInt64).scalar<int64_t>();
  }
  int64_t count = 0;
};

}  // namespace crochet::inline v0
