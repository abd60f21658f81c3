// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/value_text.h"

#include <algorithm>
#include <cmath>

#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// The number of elements on either side of the dots; up to twice as many are shown in full.
constexpr int64_t kEdge = 3;

std::string real_text(double number) {
  const double size = std::abs(number);
  if (size >= 1e-4 || size < 1e-8) return fmt::format("{:.6g}", number);
  std::string text = fmt::format("{:.10f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

std::string element_text(const Tensor& element) {
  switch (element.dtype()) {
    case DType::kInt64:
      return fmt::format("{}", element.scalar<int64_t>());
    case DType::kUint64:
      return fmt::format("{}", element.scalar<uint64_t>());
    case DType::kInt32:
      return fmt::format("{}", element.scalar<int32_t>());
    case DType::kUint32:
      return fmt::format("{}", element.scalar<uint32_t>());
    case DType::kBool:
      return element.scalar<bool>() ? "true" : "false";
    case DType::kComplex64:
    case DType::kComplex128:
      return describe(element);
    default:
      return real_text(element.to_double());
  }
}

Tensor element_of(const Tensor& tensor, int64_t index) {
  Tensor element(tensor.dtype(), Shape{});
  const size_t size = element.num_bytes();
  std::ranges::copy(tensor.bytes().subspan(static_cast<size_t>(index) * size, size),
                    element.mutable_bytes().begin());
  return element;
}

std::string list_text(const Tensor& tensor) {
  const int64_t count = tensor.num_elements();
  std::string text = "[";
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    if (i == kEdge && count > 2 * kEdge) {
      text += "... ";
      i = count - kEdge;
    }
    text += element_text(element_of(tensor, i));
  }
  return text + "]";
}

}  // namespace

std::string value_text(const Tensor& value) {
  if (!value.is_set()) return "-";
  if (value.shape().rank() == 0) return element_text(value);
  const std::string text = list_text(value);
  return value.shape().rank() == 1 ? text : fmt::format("{} of shape {}", text, value.shape());
}

}  // namespace crochet::inline v0::internal
