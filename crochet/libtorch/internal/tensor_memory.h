// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::libtorch::internal {

// "Float [3, 4]", with the device, the layout and more where they are not the usual ones.
std::string describe(const at::Tensor& tensor);

// Throws: InvalidArgumentError, with describe(), for a tensor that is not elements of a DType with
// sizes and strides: undefined, sparse, quantized, without memory.
DType checked_dtype(const at::Tensor& tensor);

Shape shape_of(const at::Tensor& tensor);

// True if the elements are in the CPU's memory, row-major, as numbers that need no other operation
// to be read: then data_ptr() is the array.
bool is_plain(const at::Tensor& tensor);
// The tensor itself if it is plain, otherwise a plain copy. Without autograd.
at::Tensor plain_copy_or_alias(const at::Tensor& tensor);

}  // namespace crochet::inline v0::libtorch::internal
