// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/torch_types.h"

#include <algorithm>
#include <iterator>

namespace crochet::inline v0::internal {
namespace {

constexpr TorchType kTorchTypes[] = {
    {"torch\nfloat32", "torch\nFloatStorage", 4, DType::kFloat},
    {"torch\nfloat64", "torch\nDoubleStorage", 8, DType::kDouble},
    {"torch\nfloat16", "torch\nHalfStorage", 2, DType::kHalf},
    {"torch\nbfloat16", "torch\nBFloat16Storage", 2, DType::kBfloat16},
    {"torch\nint64", "torch\nLongStorage", 8, DType::kInt64},
    {"torch\nint32", "torch\nIntStorage", 4, DType::kInt32},
    {"torch\nint16", "torch\nShortStorage", 2, DType::kInt16},
    {"torch\nint8", "torch\nCharStorage", 1, DType::kInt8},
    {"torch\nuint8", "torch\nByteStorage", 1, DType::kUint8},
    {"torch\nbool", "torch\nBoolStorage", 1, DType::kBool},
    {"torch\ncomplex64", "torch\nComplexFloatStorage", 8, DType::kComplex64},
    {"torch\ncomplex128", "torch\nComplexDoubleStorage", 16, DType::kComplex128},
    {"torch\ncomplex32", "torch\nComplexHalfStorage", 4, DType::kInvalid},
    {"torch\nuint16", "", 2, DType::kUint16},
    {"torch\nuint32", "", 4, DType::kUint32},
    {"torch\nuint64", "", 8, DType::kUint64},
    {"torch\nfloat8_e4m3fn", "", 1, DType::kFloat8E4m3fn},
    {"torch\nfloat8_e4m3fnuz", "", 1, DType::kFloat8E4m3fnuz},
    {"torch\nfloat8_e5m2", "", 1, DType::kFloat8E5m2},
    {"torch\nfloat8_e5m2fnuz", "", 1, DType::kFloat8E5m2fnuz},
    {"torch\nfloat8_e8m0fnu", "", 1, DType::kFloat8E8m0fnu},
    // Two elements in a byte, which is what torch counts.
    {"torch\nfloat4_e2m1fn_x2", "", 1, DType::kInvalid},
};

template <typename Matches>
const TorchType* find_torch_type(Matches matches) {
  const auto* const found = std::ranges::find_if(kTorchTypes, matches);
  return found == std::end(kTorchTypes) ? nullptr : found;
}

}  // namespace

const TorchType* find_torch_dtype(std::string_view global) {
  return find_torch_type([&](const TorchType& type) { return type.dtype == global; });
}

const TorchType* find_torch_storage(std::string_view global) {
  return find_torch_type([&](const TorchType& type) { return type.storage == global; });
}

}  // namespace crochet::inline v0::internal
