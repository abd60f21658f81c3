// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/engines/tensorflow/c_api.h"
#include "crochet/tensor/tensor.h"

namespace crochet::tensorflow::internal {

// TensorFlow's shapes have no more dimensions; it ends the process where one is given more.
inline constexpr int kMaxRank = 254;

// The tensor for TensorFlow. Memory at a multiple of kBufferAlignment is shared: it is held, and
// so never written to, until TensorFlow lets go of it, on whatever thread that is; TensorFlow
// only reads it. Other memory, what lies in the object, and strings are copied.
// Throws: InvalidArgumentError for an unset tensor and one of more than kMaxRank dimensions;
// ResourceExhaustedError without memory.
TensorPtr to_tensorflow(const Tensor& tensor);

// How a tensor of TensorFlow's is taken over.
enum class Sharing {
  kBorrow,  // Its memory is held and read: for what TensorFlow does not write to any more.
  kCopy,
};

// The tensor for us; strings, and what fits into the object, are always copied.
// Throws: UnimplementedError for types that have no elements in memory, resources and variants, and
// for those we have no names for; ResourceExhaustedError.
Tensor from_tensorflow(TensorPtr tensor, Sharing sharing);

}  // namespace crochet::tensorflow::internal
