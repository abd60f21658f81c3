// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/tensor_memory.h"

#include <span>

#include <torch/types.h>

#include "crochet/base/error.h"
#include "crochet/libtorch/internal/scalar_type.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::libtorch::internal {

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  std::string text = c10::toString(tensor.scalar_type());
  if (tensor.layout() != at::kStrided) {
    text += tensor.is_mkldnn() ? ", layout mkldnn" : ", a sparse layout";
    return text;
  }
  text += fmt::format(" {}", shape_of(tensor));
  if (!tensor.device().is_cpu()) text += " on " + tensor.device().str();
  return text;
}

DType checked_dtype(const at::Tensor& tensor) {
  const auto dtype = tensor.defined() ? dtype_of(tensor.scalar_type()) : std::nullopt;
  if (!dtype || tensor.layout() != at::kStrided || tensor.is_quantized() || tensor.is_meta())
    throw InvalidArgumentError(fmt::format(
        "found {}, expected a dense tensor of a type that checkpoints have", describe(tensor)));
  return *dtype;
}

Shape shape_of(const at::Tensor& tensor) {
  const at::IntArrayRef sizes = tensor.sizes();
  return Shape(std::span<const int64_t>(sizes.data(), sizes.size()));
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous() && !tensor.is_conj() &&
         !tensor.is_neg();
}

at::Tensor plain_copy_or_alias(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  return is_plain(tensor) ? tensor
                          : tensor.detach().resolve_conj().resolve_neg().to(at::kCPU).contiguous();
}

}  // namespace crochet::inline v0::libtorch::internal
