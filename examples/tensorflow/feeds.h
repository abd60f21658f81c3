// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <crochet/tensor/tensor.h>

#include "digits_data.h"

// What the graphs of make_digits_graph.py and softmax.cc are fed.
namespace digits {

inline constexpr Eigen::Index kBatchSize = 32;

// The samples of the step from `step` to `step` + 1: one batch after the other, over and over.
Dataset batch_of_step(const Dataset& data, int64_t step);

// float32 [samples, kPixels], and int32 [samples].
crochet::Tensor images_of(const Dataset& data);
crochet::Tensor labels_of(const Dataset& data);

}  // namespace digits
