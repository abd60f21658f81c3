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
    {"invalid", 0},  {"float32", 4}, {"float64", 8}, {"int32", 4},       {"uint8", 1},
    {"int16", 2},    {"int8", 1},    {"string", 0},  {"complex64", 8},   {"int64", 8},
    {"bool", 1},     {"qint8", 1},   {"quint8", 1},  {"qint32", 4},      {"bfloat16", 2},
    {"qint16", 2},   {"quint16", 2}, {"uint16", 2},  {"complex128", 16}, {"float16", 2},
    {"resource", 0}, {"variant", 0}, {"uint32", 4},  {"uint64", 8},
};
static_assert(std::size(kFacts) == static_cast<size_t>(DType::kUint64) + 1);

}  // namespace

size_t element_size(DType dtype) { return kFacts[static_cast<size_t>(dtype)].size; }

const char* dtype_name(DType dtype) { return kFacts[static_cast<size_t>(dtype)].name; }

bool is_valid_dtype(int32_t number) {
  return number > 0 && number < static_cast<int32_t>(std::size(kFacts));
}

}  // namespace crochet::inline v0
