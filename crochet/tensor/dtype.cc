// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/dtype.h"

#include <iterator>

namespace crochet::inline v0 {
namespace {

struct DTypeFacts {
  const char* name;
  size_t size;
};

// In the order of the numbers.
constexpr DTypeFacts kFacts[] = {
    {"invalid", 0},
    {"float32", 4},
    {"float64", 8},
    {"int32", 4},
    {"uint8", 1},
    {"int16", 2},
    {"int8", 1},
    {"string", 0},
    {"complex64", 8},
    {"int64", 8},
    {"bool", 1},
    {"qint8", 1},
    {"quint8", 1},
    {"qint32", 4},
    {"bfloat16", 2},
    {"qint16", 2},
    {"quint16", 2},
    {"uint16", 2},
    {"complex128", 16},
    {"float16", 2},
    {"resource", 0},
    {"variant", 0},
    {"uint32", 4},
    {"uint64", 8},
    {"float8_e5m2", 1},
    {"float8_e4m3fn", 1},
    {"float8_e4m3fnuz", 1},
    {"float8_e4m3b11fnuz", 1},
    {"float8_e5m2fnuz", 1},
    {"int4", 1},
    {"uint4", 1},
    {"int2", 1},
    {"uint2", 1},
    {"float4_e2m1fn", 1},
};
static_assert(std::size(kFacts) == static_cast<size_t>(DType::kFloat4E2m1fn) + 1);

// Those that TensorFlow does not have.
constexpr DType kFirstOther = DType::kFloat8E8m0fnu;
constexpr DTypeFacts kOtherFacts[] = {
    {"float8_e8m0fnu", 1}, {"float6_e2m3fn", 1}, {"float6_e3m2fn", 1}};
static_assert(std::size(kOtherFacts) ==
              static_cast<size_t>(DType::kFloat6E3m2fn) - static_cast<size_t>(kFirstOther) + 1);

const DTypeFacts& facts_of(DType dtype) {
  return dtype < kFirstOther
             ? kFacts[static_cast<size_t>(dtype)]
             : kOtherFacts[static_cast<size_t>(dtype) - static_cast<size_t>(kFirstOther)];
}

}  // namespace

size_t element_size(DType dtype) { return facts_of(dtype).size; }

const char* dtype_name(DType dtype) { return facts_of(dtype).name; }

bool is_valid_dtype(int32_t number) {
  return number > 0 && number < static_cast<int32_t>(std::size(kFacts));
}

}  // namespace crochet::inline v0
