// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <crochet/tensor/tensor.h>

#include "digits_data.h"

// The feeds for the graphs of make_digits_graph.py and softmax.cc.
namespace digits {

inline constexpr Eigen::Index kBatchSize = 32;

// The samples of the step from `step` to `step` + 1: consecutive batches, repeated endlessly.
Dataset batch_of_step(const Dataset& data, int64_t step);

// float32 [samples, kPixels], and int32 [samples].
crochet::Tensor images_of(const Dataset& data);
crochet::Tensor labels_of(const Dataset& data);

}  // namespace digits
