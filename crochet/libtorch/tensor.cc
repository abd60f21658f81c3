// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/tensor.h"

#include <cstring>

#include <torch/types.h>

#include "crochet/base/error.h"
#include "crochet/libtorch/internal/scalar_type.h"
#include "crochet/libtorch/internal/tensor_memory.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {

namespace libtorch {

Tensor to_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const DType dtype = libtorch::internal::checked_dtype(tensor);
  const at::Tensor plain = libtorch::internal::plain_copy_or_alias(tensor);
  Tensor result(dtype, libtorch::internal::shape_of(plain));
  const std::span<std::byte> bytes = result.writable_bytes();
  if (!bytes.empty()) std::memcpy(bytes.data(), plain.data_ptr(), bytes.size());
  return result;
}

at::Tensor to_torch(const Tensor& tensor) {
  if (tensor.dtype() == DType::kInvalid) return {};
  const auto type = libtorch::internal::scalar_type_of(tensor.dtype());
  if (!type)
    throw InvalidArgumentError(
        fmt::format("this version of LibTorch has no tensors of {}", dtype_name(tensor.dtype())));
  const std::span<const int64_t> sizes = tensor.shape().dimensions();
  at::Tensor result = at::empty(at::IntArrayRef(sizes.data(), sizes.size()), *type);
  const std::span<const std::byte> bytes = tensor.bytes();
  if (!bytes.empty()) std::memcpy(result.data_ptr(), bytes.data(), bytes.size());
  return result;
}

}  // namespace libtorch

Tensor array_to_tensor(ToTensorTag, const at::Tensor& tensor) {
  return libtorch::to_tensor(tensor);
}

}  // namespace crochet::inline v0
