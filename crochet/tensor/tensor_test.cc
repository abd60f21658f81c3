// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/tensor.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<float> kManyFloats(100, 1.5f);

bool is_inside(const Tensor& tensor) {
  const auto* const object = reinterpret_cast<const std::byte*>(&tensor);
  const std::byte* const data = tensor.bytes().data();
  return data >= object && data < object + sizeof(Tensor);
}

TEST(TensorTest, IsUnsetByDefault) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.is_set());
  EXPECT_EQ(tensor.dtype(), DType::kInvalid);
  EXPECT_EQ(tensor.num_elements(), 0);
  EXPECT_EQ(tensor.num_bytes(), 0);
  EXPECT_TRUE(tensor.bytes().empty());
  EXPECT_EQ(describe(tensor), "unset");
  EXPECT_THROW(tensor.flat<float>(), InvalidArgumentError);
  EXPECT_THAT([&] { tensor.to_double(); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("(unset)")));
}

TEST(TensorTest, HoldsValuesInRowMajorOrder) {
  const Tensor tensor = Tensor::from<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(tensor.dtype(), DType::kInt32);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.num_bytes(), 24);
  EXPECT_THAT(tensor.flat<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(Tensor::from<float>({1, 2}).shape(), Shape{2});
}

TEST(TensorTest, ZerosAreZeros) {
  const Tensor large = Tensor::zeros<double>({3, 5}), small = Tensor::zeros<double>({2});
  EXPECT_THAT(large.flat<double>(), Each(0));
  EXPECT_THAT(small.flat<double>(), Each(0));
  EXPECT_EQ(Tensor::zeros<float>({0, 7}).num_bytes(), 0);
}

TEST(TensorTest, RejectsAWrongNumberOfValues) {
  EXPECT_THAT(
      [] {
        Tensor::from<float>({1, 2, 3}, {2, 2});
      },
      ThrowsMessage<InvalidArgumentError>("tensor of shape [2,2]: found 3 values, expected 4"));
}

TEST(TensorTest, RejectsTypesWithoutASizeAndUnknownShapes) {
  for (const DType dtype : {DType::kInvalid, DType::kString, DType::kResource, DType::kVariant})
    EXPECT_THROW(Tensor(dtype, {}), InvalidArgumentError) << dtype_name(dtype);
  EXPECT_THAT(
      [] {
        Tensor(DType::kFloat, {Shape::kUnknownDimension, 2});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("[?,2]")));
}

// Sizes of 2^64 bytes and more must not wrap around to a small number.
TEST(TensorTest, RejectsMoreBytesThanCanBeCounted) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT([&] { Tensor(DType::kFloat, {huge}); },
              ThrowsMessage<ResourceExhaustedError>(HasSubstr("[4611686018427387904]")));
  EXPECT_THROW(Tensor(DType::kComplex128, {huge, 1}), ResourceExhaustedError);
  EXPECT_THROW(Tensor(DType::kInt8, {INT64_MAX}), ResourceExhaustedError);
}

TEST(TensorTest, UsesAnExistingBuffer) {
  Buffer buffer(20);
  std::memset(buffer.mutable_data(), 0, buffer.size());
  const std::byte* const data = buffer.data();
  const Tensor tensor = Tensor::from_buffer(DType::kFloat, {5}, std::move(buffer));
  EXPECT_EQ(tensor.bytes().data(), data);
  EXPECT_EQ(tensor, Tensor::zeros<float>({5}));
  EXPECT_TRUE(is_inside(Tensor::from_buffer(DType::kInt8, {3}, Buffer(3))));
  EXPECT_THAT(
      [] { Tensor::from_buffer(DType::kFloat, {5}, Buffer(24)); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("found a buffer of 24 bytes, expected 20")));
  EXPECT_THROW(Tensor::from_buffer(DType::kString, {1}, Buffer(32)), InvalidArgumentError);
  EXPECT_EQ(Tensor::from_buffer(DType::kFloat, {0}, Buffer()).num_elements(), 0);
}

TEST(TensorTest, StaysOverABufferThatIsFilledLater) {
  Buffer buffer(4);
  std::byte* const data = buffer.mutable_data();
  const Tensor tensor = Tensor::over_buffer(DType::kInt32, {}, std::move(buffer));
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it shares the memory.
  const Tensor copy = tensor;
  const int32_t value = 7;
  std::memcpy(data, &value, sizeof(value));
  EXPECT_EQ(tensor.scalar<int32_t>(), 7);
  EXPECT_EQ(copy, Tensor::scalar(int32_t{7}));
  EXPECT_THROW(Tensor::over_buffer(DType::kInt32, {}, Buffer(8)), InvalidArgumentError);
}

TEST(TensorTest, SmallValuesAreStoredInTheObject) {
  EXPECT_TRUE(is_inside(Tensor::scalar(1.0f)));
  EXPECT_TRUE(is_inside(Tensor::scalar(std::complex<double>(1, 2))));
  EXPECT_TRUE(is_inside(Tensor::from<float>({1, 2, 3, 4})));
  EXPECT_FALSE(is_inside(Tensor::from<float>({1, 2, 3, 4, 5})));
}

TEST(TensorTest, LargeValuesAreAligned) {
  for (int64_t n = 17; n < 300; n += 7) {
    const Tensor tensor = Tensor::zeros<uint8_t>({n});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes().data()) % kBufferAlignment, 0) << n;
  }
}

TEST(TensorTest, CopiesShareUntilOneIsWrittenTo) {
  Tensor original = Tensor::from(kManyFloats);
  const Tensor copy = original;
  EXPECT_EQ(copy.bytes().data(), original.bytes().data());
  original.mutable_flat<float>()[0] = 7;
  EXPECT_NE(copy.bytes().data(), original.bytes().data());
  EXPECT_EQ(copy.flat<float>()[0], 1.5f);
  EXPECT_EQ(original.flat<float>()[0], 7);
  EXPECT_EQ(original.flat<float>()[99], 1.5f);
}

TEST(TensorTest, WritesInPlaceOnceItIsTheOnlyHolder) {
  Tensor tensor = Tensor::from(kManyFloats);
  const std::byte* const data = tensor.bytes().data();
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copying is tested.
  { const Tensor copy = tensor; }
  tensor.mutable_flat<float>()[0] = 7;
  EXPECT_EQ(tensor.bytes().data(), data);
}

TEST(TensorTest, CopiesOfSmallValuesAreIndependent) {
  Tensor original = Tensor::scalar<int64_t>(1);
  const Tensor copy = original;
  original.mutable_flat<int64_t>()[0] = 2;
  EXPECT_EQ(copy.scalar<int64_t>(), 1);
  EXPECT_EQ(original.scalar<int64_t>(), 2);
}

TEST(TensorTest, MovesItsMemory) {
  Tensor original = Tensor::from(kManyFloats);
  const std::byte* const data = original.bytes().data();
  Tensor moved = std::move(original);
  EXPECT_EQ(moved.bytes().data(), data);
  moved.mutable_flat<float>()[0] = 2;
  EXPECT_EQ(moved.bytes().data(), data) << "it is the only holder";
}

TEST(TensorTest, ACopyNeverChanges) {
  Tensor weights = Tensor::from(kManyFloats);
  std::vector<std::jthread> savers;
  for (int step = 0; step < 20; ++step) {
    savers.emplace_back([snapshot = weights, expected = weights.flat<float>()[0]] {
      EXPECT_EQ(snapshot.flat<float>()[0], expected);
    });
    weights.mutable_flat<float>()[0] += 1;
  }
}

TEST(TensorTest, RejectsReadsAsAnotherType) {
  Tensor tensor = Tensor::scalar(1.0f);
  EXPECT_THAT([&] { tensor.flat<double>(); },
              ThrowsMessage<InvalidArgumentError>("tensor: found type float32, expected float64"));
  EXPECT_THROW(tensor.mutable_flat<int32_t>(), InvalidArgumentError);
  EXPECT_THROW(tensor.scalar<int32_t>(), InvalidArgumentError);
}

TEST(TensorTest, RejectsSeveralElementsAsAScalar) {
  EXPECT_EQ(Tensor::from<float>({3}, {1, 1}).scalar<float>(), 3);
  EXPECT_THAT(
      [] {
        Tensor::from<float>({1, 2}).scalar<float>();
      },
      ThrowsMessage<InvalidArgumentError>("tensor [2]: found 2 elements, expected one"));
  EXPECT_THROW(Tensor::zeros<float>({0}).scalar<float>(), InvalidArgumentError);
}

TEST(TensorTest, ConvertsAnyRealNumberToDouble) {
  EXPECT_EQ(Tensor::scalar(1.5f).to_double(), 1.5);
  EXPECT_EQ(Tensor::scalar(-2.25).to_double(), -2.25);
  EXPECT_EQ(Tensor::scalar<int8_t>(-128).to_double(), -128);
  EXPECT_EQ(Tensor::scalar<int16_t>(-32768).to_double(), -32768);
  EXPECT_EQ(Tensor::scalar<int32_t>(-7).to_double(), -7);
  EXPECT_EQ(Tensor::scalar<int64_t>(1 << 20).to_double(), 1 << 20);
  EXPECT_EQ(Tensor::scalar<uint8_t>(255).to_double(), 255);
  EXPECT_EQ(Tensor::scalar<uint16_t>(65535).to_double(), 65535);
  EXPECT_EQ(Tensor::scalar<uint32_t>(4294967295).to_double(), 4294967295.0);
  EXPECT_EQ(Tensor::scalar(std::numeric_limits<uint64_t>::max()).to_double(), 0x1p64);
  EXPECT_EQ(Tensor::scalar(true).to_double(), 1);
}

TEST(TensorTest, ConvertsHalfPrecisionNumbersToDouble) {
  const auto half = [](DType dtype, uint16_t bits) {
    Tensor tensor(dtype, {});
    std::memcpy(tensor.mutable_bytes().data(), &bits, sizeof(bits));
    return tensor.to_double();
  };
  EXPECT_EQ(half(DType::kBfloat16, 0x3fc0), 1.5);
  EXPECT_EQ(half(DType::kBfloat16, 0xc000), -2);
  EXPECT_EQ(half(DType::kHalf, 0x3e00), 1.5);
  EXPECT_EQ(half(DType::kHalf, 0xc000), -2);
  EXPECT_EQ(half(DType::kHalf, 0x7bff), 65504);
  EXPECT_EQ(half(DType::kHalf, 0x0001), 0x1p-24);
  EXPECT_EQ(half(DType::kHalf, 0xfc00), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(half(DType::kHalf, 0x7e00)));
  EXPECT_TRUE(std::signbit(half(DType::kHalf, 0x8000)));
}

TEST(TensorTest, NumbersOfTwoBytesAreElements) {
  const Tensor halves = Tensor::from<Half>({Half(1.5f), Half(-2)});
  EXPECT_EQ(halves.dtype(), DType::kHalf);
  EXPECT_EQ(halves.flat<Half>()[1], -2.0f);
  EXPECT_EQ(Tensor::scalar(Bfloat16(3)).scalar<Bfloat16>(), 3.0f);
  EXPECT_EQ(Tensor::scalar(Bfloat16(3)).to_double(), 3);
}

TEST(TensorTest, RejectsAComplexNumberAsADouble) {
  EXPECT_THAT(
      [] { Tensor::scalar(std::complex<float>(1, 2)).to_double(); },
      ThrowsMessage<InvalidArgumentError>("tensor: found type complex64, expected a real number"));
}

TEST(TensorTest, EqualsATensorWithTheSameTypeShapeAndBytes) {
  const Tensor tensor = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(tensor, Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_NE(tensor, Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_NE(tensor, Tensor::from<float>({1, 2, 3, 4, 5, 7}, {2, 3}));
  EXPECT_NE(Tensor::zeros<float>({2}), Tensor::zeros<int32_t>({2}));
  EXPECT_EQ(Tensor(), Tensor());
  EXPECT_NE(Tensor(), Tensor::scalar(0.0f));
}

TEST(TensorTest, DescribesItself) {
  EXPECT_EQ(describe(Tensor::zeros<float>({64, 128})), "float32 [64,128]");
  EXPECT_EQ(describe(Tensor::scalar<int64_t>(7)), "int64 [] = 7");
  EXPECT_EQ(describe(Tensor::scalar<int64_t>(123456789)), "int64 [] = 123456789");
  EXPECT_EQ(describe(Tensor::scalar<int64_t>(INT64_MAX)), "int64 [] = 9223372036854775807");
  EXPECT_EQ(describe(Tensor::scalar(0.1f)), "float32 [] = 0.1");
  EXPECT_EQ(describe(Tensor::scalar(0.1)), "float64 [] = 0.1");
  EXPECT_EQ(describe(Tensor::scalar(true)), "bool [] = 1");
  EXPECT_EQ(describe(Tensor::scalar(std::complex<float>(1, 2))), "complex64 []");
}

TEST(TensorTest, KnowsWhetherItsMemoryIsShared) {
  const Tensor large = Tensor::zeros<float>({100});
  EXPECT_FALSE(large.is_shared());
  {
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copying is tested.
    const Tensor copy = large;
    EXPECT_TRUE(large.is_shared());
    EXPECT_TRUE(copy.is_shared());
  }
  EXPECT_FALSE(large.is_shared());
  const Tensor small = Tensor::scalar(1.0f);
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): copying is tested.
  const Tensor copy = small;
  EXPECT_FALSE(copy.is_shared());
  EXPECT_FALSE(Tensor().is_shared());
}

// A view of a temporary's elements does not compile.
template <typename T>
concept GivesViews = requires(T&& tensor) {
  std::forward<T>(tensor).template flat<float>();
  std::forward<T>(tensor).strings();
  std::forward<T>(tensor).bytes();
};
template <typename T>
concept GivesAnyView = requires(T&& tensor) {
  std::forward<T>(tensor).template flat<float>();
}
|| requires(T&& tensor) { std::forward<T>(tensor).strings(); }
|| requires(T&& tensor) { std::forward<T>(tensor).bytes(); }
|| requires(T&& tensor) { std::forward<T>(tensor).template mutable_flat<float>(); }
|| requires(T&& tensor) { std::forward<T>(tensor).mutable_strings(); }
|| requires(T&& tensor) { std::forward<T>(tensor).mutable_bytes(); };
static_assert(GivesViews<Tensor&> && GivesViews<const Tensor&>);
static_assert(!GivesAnyView<Tensor> && !GivesAnyView<const Tensor>);
static_assert(std::is_same_v<decltype(std::declval<Tensor>().shape()), Shape>);
static_assert(std::is_same_v<decltype(std::declval<Tensor>().buffer()), Buffer>);
static_assert(std::is_same_v<decltype(std::declval<Tensor&>().shape()), const Shape&>);

TEST(TensorTest, HasAVersionUntilASpanOfItIsTakenForWriting) {
  Tensor tensor = Tensor::zeros<float>({100});
  const uint64_t version = tensor.version();
  EXPECT_NE(version, 0);
  EXPECT_NE(Tensor::from(std::vector<float>(100)).version(), 0);
  tensor.writable_flat<float>()[0] = 1;
  EXPECT_NE(tensor.version(), 0);
  EXPECT_NE(tensor.version(), version);
  tensor.mutable_flat<float>()[0] = 2;
  EXPECT_EQ(tensor.version(), 0);
  // A copy that is written by its owner alone has memory of its own.
  Tensor copy = tensor;
  EXPECT_EQ(copy.version(), 0);
  copy.writable_flat<float>()[0] = 3;
  EXPECT_NE(copy.version(), 0);
  EXPECT_EQ(tensor.flat<float>()[0], 2);
}

TEST(TensorTest, WritesASingleElement) {
  Tensor number = Tensor::scalar<int64_t>(1);
  number.mutable_single<int64_t>() = 2;
  EXPECT_EQ(number.scalar<int64_t>(), 2);
  Tensor in_a_buffer = Tensor::over_buffer(DType::kInt64, {1}, Buffer(sizeof(int64_t)));
  in_a_buffer.mutable_single<int64_t>() = 3;
  const Tensor copy = in_a_buffer;
  in_a_buffer.mutable_single<int64_t>() = 4;
  EXPECT_EQ(copy.scalar<int64_t>(), 3) << "a shared element is copied before it is written";
  EXPECT_EQ(in_a_buffer.scalar<int64_t>(), 4);
}

// A file or another library may store any byte for a bool.
TEST(TensorTest, NeverReadsABoolThatIsNeitherTrueNorFalse) {
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{100}}) {
    Tensor tensor = Tensor::zeros<bool>(shape);
    const auto last = static_cast<size_t>(tensor.num_elements() - 1);
    tensor.mutable_flat<bool>()[last] = true;
    EXPECT_TRUE(tensor.flat<bool>()[last]);
    tensor.mutable_bytes()[last] = std::byte{2};
    EXPECT_THAT([&] { tensor.flat<bool>(); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(
                    fmt::format("the byte of element {}: found 2, expected 0 or 1", last))));
    if (last > 0) continue;
    EXPECT_THROW(tensor.scalar<bool>(), InvalidArgumentError);
    EXPECT_TRUE(tensor.single<bool>());
    EXPECT_EQ(tensor.to_double(), 1);
    EXPECT_EQ(describe(tensor), "bool [] = 1");
  }
}

}  // namespace
}  // namespace crochet
