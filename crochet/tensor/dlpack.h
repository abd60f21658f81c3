// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tensors of other libraries, by DLPack: NumPy, PyTorch, JAX, CuPy and many more speak it. Not part
// of crochet/crochet.h, since it needs DLPack's header (Debian: libdlpack-dev).
//
// | DLPack             | here                                             |
// | ------------------ | ------------------------------------------------ |
// | kDLInt, kDLUInt    | int8 to int64, uint8 to uint64                   |
// | kDLFloat           | float16, float32, float64                        |
// | kDLBfloat          | bfloat16                                         |
// | kDLComplex         | complex64, complex128                            |
// | code 6 of 8 bits   | bool, on the way in: newer versions have it      |
// | kDLUInt of 8 bits  | bool, on the way out: the version 0.6 has no other |
//
// Strings, quantised types and vector types (lanes other than 1) do not pass either way.

#include <cstddef>

#include <dlpack/dlpack.h>

#include "crochet/tensor/tensor.h"

namespace crochet {

struct FromDLPackOptions {
  // Memory that does not start at a multiple of this is copied. Memory that does not suit its
  // elements always is. With kBufferAlignment sums over tensors from elsewhere have the same bits
  // in every run, wherever the other library puts its arrays; NumPy's are then mostly copied.
  size_t alignment = 1;
};

// Takes a tensor over, and with it the duty to call its deleter, which happens once, whatever
// comes: also if this throws. The argument is not to be used afterwards.
//
// Memory of the CPU in row-major order is borrowed: no copy is made, and the deleter is called
// when the last tensor over it is gone, on that tensor's thread. Borrowed memory is only read: to
// write to the tensor copies it first. Memory in another order, and what is so small that it
// fits into the object, is copied, and the deleter called at once.
//
//   Tensor batch = from_dlpack(torch_tensor_as_dlpack);
//
// Requires: nobody writes to the memory as long as it is borrowed; a bool is 0 or 1.
// Throws: InvalidArgumentError for a null pointer, another device than the CPU, an
// element type that is not in the table, a negative size, a missing shape or memory, or strides
// that lead beyond what can be addressed; ResourceExhaustedError for more bytes than there are.
Tensor from_dlpack(DLManagedTensor* managed, const FromDLPackOptions& options = {});

// The tensor for others to read: it shares the memory, keeps it alive until the deleter is
// called, which whoever takes it owes, and never changes, since a writer on this side copies
// first. DLPack 0.6 has no word for "read-only": not to write is convention.
// Throws: InvalidArgumentError for an unset tensor and a type that is not in the table.
DLManagedTensor* to_dlpack(const Tensor& tensor);

// The same in memory of its own, to be written to as its taker likes.
DLManagedTensor* to_dlpack_copy(const Tensor& tensor);

}  // namespace crochet
