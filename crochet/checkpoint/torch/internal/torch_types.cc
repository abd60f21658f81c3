// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_types.h"

#include <algorithm>
#include <iterator>

namespace crochet::inline v0::internal {
namespace {

constexpr TorchType kTorchTypes[] = {
    {"float32", "FloatStorage", 4, DType::kFloat},
    {"float64", "DoubleStorage", 8, DType::kDouble},
    {"float16", "HalfStorage", 2, DType::kHalf},
    {"bfloat16", "BFloat16Storage", 2, DType::kBfloat16},
    {"int64", "LongStorage", 8, DType::kInt64},
    {"int32", "IntStorage", 4, DType::kInt32},
    {"int16", "ShortStorage", 2, DType::kInt16},
    {"int8", "CharStorage", 1, DType::kInt8},
    {"uint8", "ByteStorage", 1, DType::kUint8},
    {"bool", "BoolStorage", 1, DType::kBool},
    {"complex64", "ComplexFloatStorage", 8, DType::kComplex64},
    {"complex128", "ComplexDoubleStorage", 16, DType::kComplex128},
    {"complex32", "ComplexHalfStorage", 4, DType::kInvalid},
    {"uint16", "", 2, DType::kUint16},
    {"uint32", "", 4, DType::kUint32},
    {"uint64", "", 8, DType::kUint64},
    {"float8_e4m3fn", "", 1, DType::kFloat8E4m3fn},
    {"float8_e4m3fnuz", "", 1, DType::kFloat8E4m3fnuz},
    {"float8_e5m2", "", 1, DType::kFloat8E5m2},
    {"float8_e5m2fnuz", "", 1, DType::kFloat8E5m2fnuz},
    {"float8_e8m0fnu", "", 1, DType::kFloat8E8m0fnu},
    // Two elements in a byte, which is what torch counts.
    {"float4_e2m1fn_x2", "", 1, DType::kInvalid},
    // The elements of quantized tensors are more than these bytes.
    {"qint8", "QInt8Storage", 1, DType::kInvalid},
    {"quint8", "QUInt8Storage", 1, DType::kInvalid},
    {"qint32", "QInt32Storage", 4, DType::kInvalid},
    {"quint4x2", "QUInt4x2Storage", 1, DType::kInvalid},
    {"quint2x4", "QUInt2x4Storage", 1, DType::kInvalid},
};

template <typename Matches>
const TorchType* find_torch_type(Matches matches) {
  const auto* const found = std::ranges::find_if(kTorchTypes, matches);
  return found == std::end(kTorchTypes) ? nullptr : found;
}

}  // namespace

const TorchType* find_torch_dtype(const GlobalName& global) {
  if (global.module != "torch") return nullptr;
  return find_torch_type([&](const TorchType& type) { return type.dtype == global.name; });
}

const TorchType* find_torch_storage(const GlobalName& global) {
  if (global.module != "torch" || global.name.empty()) return nullptr;
  return find_torch_type([&](const TorchType& type) { return type.storage == global.name; });
}

}  // namespace crochet::inline v0::internal
