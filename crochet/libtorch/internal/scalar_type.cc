// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/scalar_type.h"

#include <string_view>
#include <utility>

namespace crochet::inline v0::libtorch::internal {
namespace {

// By LibTorch's names, as the versions of LibTorch do not have the same types.
constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"Float", DType::kFloat},
    {"Double", DType::kDouble},
    {"Half", DType::kHalf},
    {"BFloat16", DType::kBfloat16},
    {"ComplexFloat", DType::kComplex64},
    {"ComplexDouble", DType::kComplex128},
    {"Bool", DType::kBool},
    {"Char", DType::kInt8},
    {"Short", DType::kInt16},
    {"Int", DType::kInt32},
    {"Long", DType::kInt64},
    {"Byte", DType::kUint8},
    {"UInt16", DType::kUint16},
    {"UInt32", DType::kUint32},
    {"UInt64", DType::kUint64},
    {"Float8_e5m2", DType::kFloat8E5m2},
    {"Float8_e4m3fn", DType::kFloat8E4m3fn},
    {"Float8_e5m2fnuz", DType::kFloat8E5m2fnuz},
    {"Float8_e4m3fnuz", DType::kFloat8E4m3fnuz},
    {"Float8_e8m0fnu", DType::kFloat8E8m0fnu},
};

}  // namespace

std::optional<DType> dtype_of(c10::ScalarType type) {
  const std::string_view found = c10::toString(type);
  for (const auto& [name, dtype] : kTypes)
    if (name == found) return dtype;
  return {};
}

std::optional<c10::ScalarType> scalar_type_of(DType dtype) {
  for (const auto& [name, known] : kTypes) {
    if (known != dtype) continue;
    for (int number = 0; number < static_cast<int>(c10::ScalarType::NumOptions); ++number)
      if (c10::toString(static_cast<c10::ScalarType>(number)) == name)
        return static_cast<c10::ScalarType>(number);
  }
  return {};
}

}  // namespace crochet::inline v0::libtorch::internal
