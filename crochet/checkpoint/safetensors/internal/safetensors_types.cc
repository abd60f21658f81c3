// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_types.h"

#include <algorithm>
#include <iterator>

namespace crochet::inline v0::internal {
namespace {

// In the order in which tensors are stored in files.
constexpr SafetensorsType kTypes[] = {
    {"U64", 64, DType::kUint64},
    {"I64", 64, DType::kInt64},
    {"F64", 64, DType::kDouble},
    {"C64", 64, DType::kComplex64},
    {"F32", 32, DType::kFloat},
    {"U32", 32, DType::kUint32},
    {"I32", 32, DType::kInt32},
    {"BF16", 16, DType::kBfloat16},
    {"F16", 16, DType::kHalf},
    {"U16", 16, DType::kUint16},
    {"I16", 16, DType::kInt16},
    {"F8_E5M2FNUZ", 8, DType::kFloat8E5m2fnuz},
    {"F8_E4M3FNUZ", 8, DType::kFloat8E4m3fnuz},
    {"F8_E8M0", 8, DType::kFloat8E8m0fnu},
    {"F8_E4M3", 8, DType::kFloat8E4m3fn},
    {"F8_E5M2", 8, DType::kFloat8E5m2},
    {"I8", 8, DType::kInt8},
    {"U8", 8, DType::kUint8},
    {"F6_E3M2", 6, DType::kFloat6E3m2fn},
    {"F6_E2M3", 6, DType::kFloat6E2m3fn},
    {"F4", 4, DType::kFloat4E2m1fn},
    {"BOOL", 8, DType::kBool},
};

template <typename Matches>
const SafetensorsType* find_type(Matches matches) {
  const auto* const found = std::ranges::find_if(kTypes, matches);
  return found == std::end(kTypes) ? nullptr : found;
}

}  // namespace

const SafetensorsType* find_safetensors_type(std::string_view name) {
  return find_type([&](const SafetensorsType& type) { return type.name == name; });
}

const SafetensorsType* safetensors_type_of(DType dtype) {
  if (dtype == DType::kInvalid) return nullptr;
  return find_type([&](const SafetensorsType& type) { return type.dtype == dtype; });
}

unsigned stored_bits(DType dtype) {
  const SafetensorsType* const type = safetensors_type_of(dtype);
  return type == nullptr ? 8 * static_cast<unsigned>(element_size(dtype)) : type->bits;
}

bool comes_before(const SafetensorsType* a, const SafetensorsType* b) { return a < b; }

}  // namespace crochet::inline v0::internal
