// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Exchanges tensors with other libraries through DLPack: NumPy, PyTorch, JAX, CuPy and many more.
// Not part of crochet/crochet.h, since it needs DLPack's header (Debian: libdlpack-dev).
//
// | DLPack             | crochet                                          |
// | ------------------ | ------------------------------------------------ |
// | kDLInt, kDLUInt    | int8 to int64, uint8 to uint64                   |
// | kDLFloat           | float16, float32, float64                        |
// | kDLBfloat          | bfloat16                                         |
// | kDLComplex         | complex64, complex128                            |
// | code 6 of 8 bits   | bool, import only: newer versions have it        |
// | kDLUInt of 8 bits  | bool, export only: version 0.6 has no bool       |
//
// Strings, quantised types and vector types (lanes other than 1) are not supported.

#include <cstddef>

#include <dlpack/dlpack.h>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

struct FromDLPackOptions {
  // Memory that is not aligned to this is copied, as is memory that is not aligned for its
  // elements. With kBufferAlignment, sums over imported tensors have the same bits in every run,
  // wherever the other library puts its arrays; NumPy's arrays are then mostly copied.
  size_t alignment = 1;
};

// Takes ownership of a tensor: its deleter is called exactly once, even if this throws. The
// argument must not be used afterwards.
//
// CPU memory in row-major order is borrowed: no copy is made, and the deleter is called when the
// last tensor that uses it is destroyed, on that thread. Borrowed memory is only read: writing to
// the tensor copies it first. Memory in another order, and values small enough to be stored in the
// object, are copied, and the deleter is called at once.
//
//   Tensor batch = from_dlpack(torch_tensor_as_dlpack);
//
// Requires: the memory is not changed while it is borrowed; a bool is 0 or 1.
// Throws: InvalidArgumentError for a null pointer, a device other than the CPU, an
// element type that is not in the table, a negative size, a missing shape or memory, or strides
// that exceed the address space; ResourceExhaustedError if there is not enough memory for a copy.
CROCHET_EXPORT Tensor from_dlpack(DLManagedTensor* managed, const FromDLPackOptions& options = {});

// Exports the tensor for reading. The result shares the memory and keeps it alive until the
// receiver calls the deleter, and never changes, since a writer on this side copies first. DLPack
// 0.6 cannot express "read-only"; by convention, receivers do not write.
// Throws: InvalidArgumentError for an unset tensor and a type that is not in the table.
CROCHET_EXPORT DLManagedTensor* to_dlpack(const Tensor& tensor);

// The same with its own copy of the memory, which the receiver may write to.
CROCHET_EXPORT DLManagedTensor* to_dlpack_copy(const Tensor& tensor);

}  // namespace crochet::inline v0
