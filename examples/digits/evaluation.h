// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/tensor/tensor.h"
#include "digits_data.h"
#include "perceptron.h"

namespace digits {

// The fraction of samples that the model classifies correctly, 0 to 1.
float accuracy(const Perceptron& model, const Dataset& data);

// How often each class (row) was classified as each class (column): int64 [10,10].
crochet::Tensor confusion_matrix(const Perceptron& model, const Dataset& data);

}  // namespace digits
