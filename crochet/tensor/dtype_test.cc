// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/dtype.h"

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "crochet/tensor/internal/fmt.h"

namespace crochet {
namespace {

// The types of TensorFlow's types.proto: number, name in Python, bytes.
struct KnownType {
  int32_t number;
  std::string name;
  size_t size;
};
const std::vector<KnownType> kKnownTypes = {
    {1, "float32", 4},
    {2, "float64", 8},
    {3, "int32", 4},
    {4, "uint8", 1},
    {5, "int16", 2},
    {6, "int8", 1},
    {7, "string", 0},
    {8, "complex64", 8},
    {9, "int64", 8},
    {10, "bool", 1},
    {11, "qint8", 1},
    {12, "quint8", 1},
    {13, "qint32", 4},
    {14, "bfloat16", 2},
    {15, "qint16", 2},
    {16, "quint16", 2},
    {17, "uint16", 2},
    {18, "complex128", 16},
    {19, "float16", 2},
    {20, "resource", 0},
    {21, "variant", 0},
    {22, "uint32", 4},
    {23, "uint64", 8},
    {24, "float8_e5m2", 1},
    {25, "float8_e4m3fn", 1},
    {26, "float8_e4m3fnuz", 1},
    {27, "float8_e4m3b11fnuz", 1},
    {28, "float8_e5m2fnuz", 1},
    {29, "int4", 1},
    {30, "uint4", 1},
    {31, "int2", 1},
    {32, "uint2", 1},
    {33, "float4_e2m1fn", 1},
};

TEST(DTypeTest, HasTensorFlowsNumbersNamesAndSizes) {
  for (const KnownType& type : kKnownTypes) {
    const auto dtype = static_cast<DType>(type.number);
    EXPECT_EQ(dtype_name(dtype), type.name);
    EXPECT_EQ(element_size(dtype), type.size) << type.name;
    EXPECT_EQ(fmt::format("{:>10}", dtype), fmt::format("{:>10}", type.name));
    EXPECT_TRUE(is_valid_dtype(type.number));
  }
}

TEST(DTypeTest, RecognisesNumbersOfTypes) {
  EXPECT_EQ(element_size(DType::kInvalid), 0);
  for (const int32_t number : {-1, 0, 34, 101, 1000, INT32_MAX, INT32_MIN})
    EXPECT_FALSE(is_valid_dtype(number)) << number;
}

TEST(DTypeTest, HasTypesThatTensorFlowLacks) {
  EXPECT_STREQ(dtype_name(DType::kFloat8E8m0fnu), "float8_e8m0fnu");
  EXPECT_STREQ(dtype_name(DType::kFloat6E2m3fn), "float6_e2m3fn");
  EXPECT_STREQ(dtype_name(DType::kFloat6E3m2fn), "float6_e3m2fn");
  EXPECT_EQ(element_size(DType::kFloat6E3m2fn), 1);
}

template <typename T, DType kExpected>
constexpr bool has_dtype() {
  return dtype_of<T> == kExpected && Element<T>;
}

TEST(DTypeTest, MapsFromCppTypes) {
  static_assert(has_dtype<float, DType::kFloat>() && has_dtype<double, DType::kDouble>());
  static_assert(has_dtype<int8_t, DType::kInt8>() && has_dtype<uint8_t, DType::kUint8>());
  static_assert(has_dtype<int16_t, DType::kInt16>() && has_dtype<uint16_t, DType::kUint16>());
  static_assert(has_dtype<int32_t, DType::kInt32>() && has_dtype<uint32_t, DType::kUint32>());
  static_assert(has_dtype<long, DType::kInt64>() && has_dtype<long long, DType::kInt64>());
  static_assert(has_dtype<unsigned long, DType::kUint64>());
  static_assert(has_dtype<unsigned long long, DType::kUint64>());
  static_assert(has_dtype<bool, DType::kBool>() && has_dtype<std::byte, DType::kUint8>());
  static_assert(has_dtype<std::complex<float>, DType::kComplex64>());
  static_assert(has_dtype<std::complex<double>, DType::kComplex128>());
  static_assert(!Element<std::string> && !Element<void*> && !Element<long double>);
  EXPECT_EQ(element_size(dtype_of<bool>), sizeof(bool));
}

}  // namespace
}  // namespace crochet
