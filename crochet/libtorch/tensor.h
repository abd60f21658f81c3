// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

namespace libtorch {

// A copy of the elements, row-major, from any device. An undefined tensor gives an unset one.
// Throws: InvalidArgumentError for tensors that are more than their elements (sparse, quantized,
// without memory) and for element types that only LibTorch has.
CROCHET_EXPORT Tensor to_tensor(const at::Tensor& tensor);

// A copy of the elements, on the CPU. An unset tensor gives an undefined one. Throws:
// InvalidArgumentError for strings, and for element types that this LibTorch does not have.
CROCHET_EXPORT at::Tensor to_torch(const Tensor& tensor);

}  // namespace libtorch

// What the callables of Loop::scalar() and its relatives return may be a torch::Tensor: an
// undefined one has no value in that step.
CROCHET_EXPORT Tensor array_to_tensor(ToTensorTag, const at::Tensor& tensor);

}  // namespace crochet::inline v0
