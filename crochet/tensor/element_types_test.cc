// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstring>

#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/tensor.h"

namespace crochet {
namespace {

// Every type with a C++ type of its own, read and written as that.
template <typename T>
class TypedElementsTest : public ::testing::Test {};

using ElementTypes =
    ::testing::Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                     uint64_t, bool, Half, Bfloat16, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TypedElementsTest, ElementTypes);

TYPED_TEST(TypedElementsTest, AreReadAndWrittenAsTheirType) {
  const auto one = static_cast<TypeParam>(1.0f);
  Tensor tensor = Tensor::zeros<TypeParam>({4, 6});
  EXPECT_EQ(tensor.dtype(), dtype_of<TypeParam>);
  EXPECT_EQ(tensor.num_bytes(), 24 * sizeof(TypeParam));
  EXPECT_EQ(tensor.template flat<TypeParam>()[23], TypeParam{});
  const Tensor before = tensor;
  tensor.template mutable_flat<TypeParam>()[23] = one;
  EXPECT_EQ(tensor.template flat<TypeParam>()[23], one);
  EXPECT_EQ(tensor.template flat<TypeParam>()[22], TypeParam{});
  EXPECT_EQ(before.template flat<TypeParam>()[23], TypeParam{});
  EXPECT_NE(before, tensor);
}

TYPED_TEST(TypedElementsTest, HaveScalars) {
  const auto one = static_cast<TypeParam>(1.0f);
  const Tensor tensor = Tensor::scalar(one);
  EXPECT_EQ(tensor.template scalar<TypeParam>(), one);
  EXPECT_EQ(tensor, Tensor::from(std::span<const TypeParam>(&one, 1), Shape{}));
}

// Quantised numbers mean nothing without their ranges: they are only carried as bytes.
TEST(QuantisedElementsTest, AreCarriedAsBytes) {
  for (const DType dtype :
       {DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32}) {
    Tensor tensor(dtype, {4, 6});
    std::memset(tensor.mutable_bytes().data(), 7, tensor.num_bytes());
    const Tensor copy = tensor;
    tensor.mutable_bytes()[0] = std::byte{9};
    EXPECT_EQ(copy.bytes()[0], std::byte{7});
    EXPECT_EQ(copy.num_bytes(), 24 * element_size(dtype));
    EXPECT_NE(copy, tensor);
    EXPECT_EQ(describe(copy), fmt::format("{} [4,6]", dtype));
    EXPECT_THROW(copy.flat<int8_t>(), InvalidArgumentError);
    EXPECT_THROW(copy.flat<int32_t>(), InvalidArgumentError);
    EXPECT_THROW(Tensor(dtype, {}).to_double(), InvalidArgumentError);
  }
}

}  // namespace
}  // namespace crochet
