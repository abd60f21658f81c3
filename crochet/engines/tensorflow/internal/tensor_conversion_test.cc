// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/tensor_conversion.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::tensorflow::internal {
namespace {

Tensor counted_row(int64_t size) {
  Tensor tensor(DType::kFloat, {size});
  const std::span<float> values = tensor.mutable_flat<float>();
  std::iota(values.begin(), values.end(), 0.0f);
  return tensor;
}

Tensor there_and_back(const Tensor& tensor, Sharing sharing = Sharing::kBorrow) {
  return from_tensorflow(to_tensorflow(tensor), sharing);
}

TEST(TensorConversionTest, ConvertsEveryTypeOfNumbersBothWays) {
  for (int32_t number = 1; is_valid_dtype(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (element_size(dtype) == 0) continue;
    Tensor tensor(dtype, {3, 5});
    for (std::byte& byte : tensor.mutable_bytes()) byte = std::byte{1};
    EXPECT_EQ(there_and_back(tensor), tensor) << dtype_name(dtype);
    EXPECT_EQ(TF_TensorType(to_tensorflow(tensor).get()), number);
  }
}

TEST(TensorConversionTest, ConvertsScalarsAndEmptyTensors) {
  for (const Tensor& tensor : {Tensor::scalar(7.5), Tensor::scalar(true),
                               Tensor::zeros<float>({0, 3}), Tensor::zeros<int64_t>({0})}) {
    const Tensor back = there_and_back(tensor);
    EXPECT_EQ(back, tensor);
    EXPECT_EQ(back.shape(), tensor.shape());
  }
}

TEST(TensorConversionTest, ConvertsStringsOfEveryLength) {
  std::vector<std::string> strings;
  for (size_t length : {0, 1, 15, 16, 22, 23, 24, 100, 100'000})
    strings.emplace_back(length, static_cast<char>('a' + length % 26));
  strings.emplace_back("with\0zero", 9);
  const Tensor tensor = Tensor::from(strings, {2, 5});
  EXPECT_EQ(there_and_back(tensor), tensor);
  EXPECT_EQ(there_and_back(Tensor::scalar(std::string("cat"))), Tensor::scalar(std::string("cat")));
}

TEST(TensorConversionTest, SharesAlignedMemory) {
  const Tensor tensor = counted_row(100);
  const TensorPtr shared = to_tensorflow(tensor);
  EXPECT_EQ(TF_TensorData(shared.get()), tensor.bytes().data());
}

TEST(TensorConversionTest, CopiesMemoryThatIsNotAligned) {
  alignas(64) static float values[101];
  const Buffer buffer = Buffer::borrow(
      {reinterpret_cast<const std::byte*>(values + 1), 100 * sizeof(float)}, [](void*) noexcept {},
      nullptr);
  const Tensor tensor = Tensor::from_buffer(DType::kFloat, {100}, buffer);
  const TensorPtr copy = to_tensorflow(tensor);
  EXPECT_NE(TF_TensorData(copy.get()), tensor.bytes().data());
  EXPECT_EQ(from_tensorflow(to_tensorflow(tensor), Sharing::kBorrow), tensor);
}

TEST(TensorConversionTest, NeverWritesToMemoryThatTensorFlowHolds) {
  Tensor tensor = counted_row(100);
  const std::byte* const memory = tensor.bytes().data();
  TensorPtr held = to_tensorflow(tensor);
  tensor.mutable_flat<float>()[0] = 50;
  EXPECT_NE(tensor.bytes().data(), memory);
  EXPECT_EQ(*static_cast<const float*>(TF_TensorData(held.get())), 0);
}

TEST(TensorConversionTest, WritesInPlaceOnceTensorFlowReleasedTheMemory) {
  Tensor tensor = counted_row(100);
  const std::byte* const memory = tensor.bytes().data();
  to_tensorflow(tensor).reset();
  EXPECT_FALSE(tensor.is_shared());
  tensor.mutable_flat<float>()[0] = 50;
  EXPECT_EQ(tensor.bytes().data(), memory);
}

TEST(TensorConversionTest, KeepsMemoryThatOnlyTensorFlowHolds) {
  TensorPtr held = to_tensorflow(counted_row(100));
  EXPECT_EQ(static_cast<const float*>(TF_TensorData(held.get()))[99], 99);
}

TEST(TensorConversionTest, BorrowsOrCopiesResults) {
  TensorPtr theirs = to_tensorflow(counted_row(100));
  const void* const memory = TF_TensorData(theirs.get());
  const Tensor borrowed = from_tensorflow(std::move(theirs), Sharing::kBorrow);
  EXPECT_EQ(borrowed.bytes().data(), memory);
  theirs = to_tensorflow(counted_row(100));
  const Tensor copy = from_tensorflow(std::move(theirs), Sharing::kCopy);
  EXPECT_NE(copy.bytes().data(), memory);
  EXPECT_EQ(copy, counted_row(100));
}

TEST(TensorConversionTest, NeverWritesToBorrowedMemory) {
  const Tensor original = counted_row(100);
  Tensor borrowed = there_and_back(original);
  borrowed.mutable_flat<float>()[0] = 50;
  EXPECT_EQ(original.flat<float>()[0], 0);
}

TEST(TensorConversionTest, RejectsTypesWithoutElements) {
  EXPECT_THROW(to_tensorflow(Tensor()), InvalidArgumentError);
  TensorPtr resource(TF_AllocateTensor(TF_RESOURCE, nullptr, 0, 1));
  EXPECT_THROW(from_tensorflow(std::move(resource), Sharing::kBorrow), UnimplementedError);
}

TEST(TensorConversionTest, RejectsTypesThatTensorFlowDoesNotHave) {
  const Tensor scale(DType::kFloat8E8m0fnu, {2});
  EXPECT_THAT([&] { to_tensorflow(scale); }, testing::ThrowsMessage<InvalidArgumentError>(
                                                 "TensorFlow has no type float8_e8m0fnu"));
}

}  // namespace
}  // namespace crochet::tensorflow::internal
