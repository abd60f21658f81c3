// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::tensorflow::internal {

// The maximum rank of TensorFlow's shapes; it aborts the process for more dimensions.
inline constexpr int kMaxRank = 254;

// Converts a tensor for TensorFlow. Memory aligned to kBufferAlignment is shared: it is held, and
// so never written to, until TensorFlow releases it, on any thread; TensorFlow
// only reads it. Other memory, inline elements, and strings are copied.
// Throws: InvalidArgumentError for an unset tensor and one of more than kMaxRank dimensions;
// ResourceExhaustedError without memory.
TensorPtr to_tensorflow(const Tensor& tensor);

// How a tensor of TensorFlow's is converted.
enum class Sharing {
  kBorrow,  // Its memory is held and read: for tensors that TensorFlow no longer writes to.
  kCopy,
};

// Converts a tensor from TensorFlow; strings and inline elements are always copied.
// Throws: UnimplementedError for types without elements in memory (resources and variants) and
// for types that crochet does not have; ResourceExhaustedError.
Tensor from_tensorflow(TensorPtr tensor, Sharing sharing);

}  // namespace crochet::inline v0::tensorflow::internal
