// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/dlpack.h"

#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int64_t kMinimum = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaximum = std::numeric_limits<int64_t>::max();

// A tensor of another library: 24 numbers from 0 on, and a count of the calls of its deleter.
// Tests change individual fields.
struct Foreign {
  Foreign() {
    std::iota(numbers, numbers + 24, 0.0f);
    managed.dl_tensor = {.data = numbers,
                         .device = {.device_type = kDLCPU, .device_id = 0},
                         .ndim = 2,
                         .dtype = {.code = kDLFloat, .bits = 32, .lanes = 1},
                         .shape = shape.data(),
                         .strides = nullptr,
                         .byte_offset = 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->num_deleted;
    };
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;

  DLTensor& tensor() { return managed.dl_tensor; }
  void set_shape(std::vector<int64_t> sizes) {
    shape = std::move(sizes);
    tensor().shape = shape.data();
    tensor().ndim = static_cast<int>(shape.size());
  }
  void set_strides(std::vector<int64_t> values) {
    strides = std::move(values);
    tensor().strides = strides.data();
  }

  alignas(kBufferAlignment) float numbers[24];
  std::vector<int64_t> shape = {4, 6};
  std::vector<int64_t> strides;
  DLManagedTensor managed = {};
  std::atomic<int> num_deleted = 0;
};

bool is_borrowed(const Tensor& tensor, const Foreign& foreign) {
  return tensor.bytes().data() == reinterpret_cast<const std::byte*>(foreign.numbers);
}

TEST(FromDLPackTest, BorrowsTheMemoryAsLongAsATensorHoldsIt) {
  Foreign foreign;
  {
    Tensor tensor = from_dlpack(&foreign.managed);
    EXPECT_EQ(tensor.dtype(), DType::kFloat);
    EXPECT_EQ(tensor.shape(), (Shape{4, 6}));
    EXPECT_EQ(tensor.flat<float>().data(), foreign.numbers);
    const Tensor copy = tensor;
    tensor = Tensor();
    EXPECT_EQ(copy.flat<float>()[23], 23);
    EXPECT_EQ(foreign.num_deleted, 0);
  }
  EXPECT_EQ(foreign.num_deleted, 1);
}

TEST(FromDLPackTest, AWriteCopiesFirstAndReleasesTheForeignMemory) {
  Foreign foreign;
  Tensor tensor = from_dlpack(&foreign.managed);
  tensor.mutable_flat<float>()[0] = 7;
  EXPECT_EQ(foreign.numbers[0], 0);
  EXPECT_EQ(foreign.num_deleted, 1);
  EXPECT_EQ(tensor.flat<float>()[0], 7);
  EXPECT_EQ(tensor.flat<float>()[23], 23);
  const float* const data = tensor.flat<float>().data();
  tensor.mutable_flat<float>()[1] = 8;
  EXPECT_EQ(tensor.flat<float>().data(), data) << "it is the only holder now";
}

TEST(FromDLPackTest, AWriteToOneOfTwoLeavesTheOtherBorrowed) {
  Foreign foreign;
  Tensor tensor = from_dlpack(&foreign.managed);
  const Tensor copy = tensor;
  tensor.mutable_flat<float>()[0] = 7;
  EXPECT_TRUE(is_borrowed(copy, foreign));
  EXPECT_EQ(copy.flat<float>()[0], 0);
  EXPECT_EQ(foreign.num_deleted, 0);
}

TEST(FromDLPackTest, TheLastHolderMayBeAnotherThread) {
  Foreign foreign;
  {
    Tensor tensor = from_dlpack(&foreign.managed);
    const std::jthread first([copy = tensor] { EXPECT_EQ(copy.flat<float>()[23], 23); });
    const std::jthread second(
        [copy = std::move(tensor)] { EXPECT_EQ(copy.flat<float>()[23], 23); });
  }
  EXPECT_EQ(foreign.num_deleted, 1);
}

TEST(FromDLPackTest, ADeleterMayBeMissing) {
  Foreign foreign;
  foreign.managed.deleter = nullptr;
  EXPECT_TRUE(is_borrowed(from_dlpack(&foreign.managed), foreign));
  foreign.tensor().dtype.lanes = 4;
  EXPECT_THROW(from_dlpack(&foreign.managed), InvalidArgumentError);
}

TEST(FromDLPackTest, SmallTensorsAreCopiedIntoTheObject) {
  Foreign foreign;
  foreign.set_shape({2, 2});
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(foreign.num_deleted, 1);
  EXPECT_THAT(tensor.flat<float>(), ElementsAre(0, 1, 2, 3));
}

TEST(FromDLPackTest, AScalarHasNoDimensions) {
  Foreign foreign;
  foreign.tensor().ndim = 0;
  foreign.tensor().shape = nullptr;
  foreign.tensor().byte_offset = 4;
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(tensor.shape(), Shape{});
  EXPECT_EQ(tensor.scalar<float>(), 1);
}

TEST(FromDLPackTest, TheOffsetCountsBytes) {
  Foreign foreign;
  foreign.set_shape({20});
  foreign.tensor().byte_offset = 16;
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(tensor.flat<float>().data(), foreign.numbers + 4);
  EXPECT_EQ(tensor.flat<float>()[19], 23);
}

TEST(FromDLPackTest, StridesOfRowMajorOrderAreBorrowed) {
  Foreign foreign;
  foreign.set_strides({6, 1});
  EXPECT_TRUE(is_borrowed(from_dlpack(&foreign.managed), foreign));
  foreign.set_shape({1, 4, 1, 6, 1});
  foreign.set_strides({99, 6, kMinimum, 1, 0});  // Those of dimensions of one element are ignored.
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_TRUE(is_borrowed(tensor, foreign));
  EXPECT_EQ(tensor.shape(), (Shape{1, 4, 1, 6, 1}));
}

// A view of the 24 numbers, and the numbers it should show.
struct View {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  uint64_t first;
  std::vector<float> expected;
};
const View kViews[] = {
    {{3, 4}, {1, 3}, 0, {0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}},  // Column-major.
    {{2, 3}, {12, 1}, 1, {1, 2, 3, 13, 14, 15}},                  // Part of the columns.
    {{5}, {4}, 3, {3, 7, 11, 15, 19}},
    {{5}, {-4}, 23, {23, 19, 15, 11, 7}},  // Backwards.
    {{2, 2, 2}, {-1, 8, -2}, 8, {8, 6, 16, 14, 7, 5, 15, 13}},
    {{3, 2}, {0, 1}, 5, {5, 6, 5, 6, 5, 6}},  // Broadcast.
    {{2, 1, 3}, {3, 77, 2}, 0, {0, 2, 4, 3, 5, 7}},
    {{6}, {0}, 9, {9, 9, 9, 9, 9, 9}},
};

TEST(FromDLPackTest, OtherStridesAreCopiedAtOnce) {
  for (const View& view : kViews) {
    Foreign foreign;
    foreign.set_shape(view.shape);
    foreign.set_strides(view.strides);
    foreign.tensor().byte_offset = view.first * sizeof(float);
    const Tensor tensor = from_dlpack(&foreign.managed);
    EXPECT_EQ(foreign.num_deleted, 1);
    EXPECT_EQ(tensor, Tensor::from(view.expected, Shape(view.shape)));
  }
}

TEST(FromDLPackTest, AnEmptyTensorNeedsNoMemoryAndNoStrides) {
  Foreign foreign;
  foreign.set_shape({3, 0, 5});
  foreign.set_strides({7, kMaximum, kMinimum});
  foreign.tensor().data = nullptr;
  foreign.tensor().byte_offset = 8;
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(tensor.shape(), (Shape{3, 0, 5}));
  EXPECT_EQ(tensor.num_bytes(), 0);
  EXPECT_EQ(foreign.num_deleted, 1);
}

TEST(FromDLPackTest, MisalignedMemoryIsCopied) {
  Foreign foreign;
  foreign.set_shape({20});
  foreign.tensor().dtype = {.code = kDLInt, .bits = 32, .lanes = 1};
  foreign.tensor().byte_offset = 2;
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(foreign.num_deleted, 1);
  EXPECT_EQ(std::memcmp(tensor.bytes().data(), reinterpret_cast<char*>(foreign.numbers) + 2, 80),
            0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes().data()) % kBufferAlignment, 0);
}

TEST(FromDLPackTest, AComplexNumberIsAlignedLikeItsHalves) {
  Foreign foreign;
  foreign.set_shape({5});
  foreign.tensor().dtype = {.code = kDLComplex, .bits = 64, .lanes = 1};
  foreign.tensor().byte_offset = 4;
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(foreign.num_deleted, 0);
  EXPECT_EQ(tensor.flat<std::complex<float>>()[0], std::complex<float>(1, 2));
}

TEST(FromDLPackTest, StricterAlignmentCanBeRequested) {
  Foreign foreign;
  foreign.set_shape({20});
  const FromDLPackOptions options{.alignment = kBufferAlignment};
  EXPECT_TRUE(is_borrowed(from_dlpack(&foreign.managed, options), foreign));
  foreign.tensor().byte_offset = 16;
  EXPECT_EQ(foreign.num_deleted, 1);
  const Tensor tensor = from_dlpack(&foreign.managed, options);
  EXPECT_EQ(foreign.num_deleted, 2);
  EXPECT_EQ(tensor.flat<float>()[0], 4);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes().data()) % kBufferAlignment, 0);
}

struct Refusal {
  std::string message;
  std::function<void(Foreign&)> change;
};
const Refusal kRefusals[] = {
    {"device of type 2, expected 1", [](Foreign& f) { f.tensor().device.device_type = kDLCUDA; }},
    {"device of type 3", [](Foreign& f) { f.tensor().device.device_type = kDLCUDAHost; }},
    {"32 bits, 4 lanes", [](Foreign& f) { f.tensor().dtype.lanes = 4; }},
    {"32 bits, 0 lanes", [](Foreign& f) { f.tensor().dtype.lanes = 0; }},
    {"type code 0, 4 bits",
     [](Foreign& f) {
       f.tensor().dtype = {kDLInt, 4, 1};
     }},
    {"type code 2, 8 bits",
     [](Foreign& f) {
       f.tensor().dtype = {kDLFloat, 8, 1};
     }},
    {"type code 3, 64 bits",
     [](Foreign& f) {
       f.tensor().dtype = {kDLOpaqueHandle, 64, 1};
     }},
    {"type code 4, 32 bits",
     [](Foreign& f) {
       f.tensor().dtype = {kDLBfloat, 32, 1};
     }},
    {"type code 6, 1 bits",
     [](Foreign& f) {
       f.tensor().dtype = {6, 1, 1};
     }},
    {"type code 200",
     [](Foreign& f) {
       f.tensor().dtype = {200, 32, 1};
     }},
    {"shape [4,-1] has a negative size",
     [](Foreign& f) {
       f.set_shape({4, -1});
     }},
    {"a negative size", [](Foreign& f) { f.set_shape({kMinimum}); }},
    {"more elements than 2^63",
     [](Foreign& f) {
       f.set_shape({kMaximum, 2});
     }},
    {"more elements than 2^63",
     [](Foreign& f) {
       f.set_shape({0, kMaximum, 2});
     }},
    {"-3 dimensions", [](Foreign& f) { f.tensor().ndim = -3; }},
    {"2 dimensions without a shape", [](Foreign& f) { f.tensor().shape = nullptr; }},
    {"float32 [4,6] without memory", [](Foreign& f) { f.tensor().data = nullptr; }},
    {"a byte_offset of 18446744073709551615",
     [](Foreign& f) { f.tensor().byte_offset = std::numeric_limits<uint64_t>::max(); }},
    {"dimension 1 has a stride of 9223372036854775807",
     [](Foreign& f) {
       f.set_strides({1, kMaximum});
     }},
    {"dimension 0 has a stride of -9223372036854775808",
     [](Foreign& f) {
       f.set_strides({kMinimum, 1});
     }},
    {"has a stride of 1152921504606846976",
     [](Foreign& f) {
       f.set_strides({int64_t{1} << 60, 1});
     }},
};

TEST(FromDLPackTest, RejectsUnsupportedTensorsWithoutALeak) {
  for (const Refusal& refusal : kRefusals) {
    Foreign foreign;
    refusal.change(foreign);
    EXPECT_THAT([&] { from_dlpack(&foreign.managed); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(refusal.message)));
    EXPECT_EQ(foreign.num_deleted, 1) << refusal.message;
  }
}

TEST(FromDLPackTest, RejectsANullPointer) {
  EXPECT_THROW(from_dlpack(nullptr), InvalidArgumentError);
}

TEST(FromDLPackTest, RunsOutOfMemoryForAHugeCopy) {
  Foreign whole;
  whole.set_shape({int64_t{1} << 62});
  EXPECT_THROW(from_dlpack(&whole.managed), ResourceExhaustedError);
  EXPECT_EQ(whole.num_deleted, 1);
  Foreign broadcast;
  broadcast.set_shape({int64_t{1} << 31, int64_t{1} << 30});
  broadcast.set_strides({0, 0});
  EXPECT_THROW(from_dlpack(&broadcast.managed), ResourceExhaustedError);
  EXPECT_EQ(broadcast.num_deleted, 1);
}

struct TypeCase {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};
const TypeCase kTypeCases[] = {
    {DType::kFloat, kDLFloat, 32},       {DType::kDouble, kDLFloat, 64},
    {DType::kHalf, kDLFloat, 16},        {DType::kBfloat16, kDLBfloat, 16},
    {DType::kInt8, kDLInt, 8},           {DType::kInt16, kDLInt, 16},
    {DType::kInt32, kDLInt, 32},         {DType::kInt64, kDLInt, 64},
    {DType::kUint8, kDLUInt, 8},         {DType::kUint16, kDLUInt, 16},
    {DType::kUint32, kDLUInt, 32},       {DType::kUint64, kDLUInt, 64},
    {DType::kComplex64, kDLComplex, 64}, {DType::kComplex128, kDLComplex, 128},
};

TEST(DLPackTest, EveryTypeIsExportedAndImported) {
  for (const TypeCase& type : kTypeCases) {
    Tensor tensor(type.dtype, {3, 5});
    std::memset(tensor.mutable_bytes().data(), 1, tensor.num_bytes());
    DLManagedTensor* const managed = to_dlpack(tensor);
    EXPECT_EQ(managed->dl_tensor.dtype.code, type.code) << dtype_name(type.dtype);
    EXPECT_EQ(managed->dl_tensor.dtype.bits, type.bits) << dtype_name(type.dtype);
    EXPECT_EQ(managed->dl_tensor.dtype.lanes, 1);
    EXPECT_EQ(from_dlpack(managed), tensor) << dtype_name(type.dtype);
  }
}

TEST(DLPackTest, ABoolIsExportedAsUint8AndImportedAsBool) {
  Foreign foreign;
  uint8_t bools[] = {1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1};
  foreign.tensor().data = bools;
  foreign.tensor().dtype = {.code = 6, .bits = 8, .lanes = 1};
  foreign.set_shape({4, 5});
  const Tensor tensor = from_dlpack(&foreign.managed);
  EXPECT_EQ(tensor.dtype(), DType::kBool);
  EXPECT_FALSE(tensor.flat<bool>()[4]);
  const Tensor back = from_dlpack(to_dlpack(tensor));
  EXPECT_EQ(back.dtype(), DType::kUint8);
  EXPECT_EQ(back.flat<uint8_t>()[0], 1);
}

TEST(ToDLPackTest, SharesTheMemoryAndKeepsItAlive) {
  Tensor tensor = Tensor::from(std::vector<float>(20, 1.5f), {4, 5});
  const float* const data = tensor.flat<float>().data();
  DLManagedTensor* const managed = to_dlpack(tensor);
  tensor = Tensor();
  const DLTensor& exported = managed->dl_tensor;
  EXPECT_EQ(exported.data, data);
  EXPECT_EQ(exported.byte_offset, 0);
  EXPECT_EQ(exported.device.device_type, kDLCPU);
  EXPECT_THAT(std::span(exported.shape, 2), ElementsAre(4, 5));
  EXPECT_THAT(std::span(exported.strides, 2), ElementsAre(5, 1));
  EXPECT_EQ(static_cast<const float*>(exported.data)[19], 1.5f);
  managed->deleter(managed);
}

TEST(ToDLPackTest, AnExportedTensorNeverChanges) {
  Tensor tensor = Tensor::from(std::vector<float>(20, 1.5f));
  DLManagedTensor* const managed = to_dlpack(tensor);
  tensor.mutable_flat<float>()[0] = 7;
  EXPECT_EQ(static_cast<const float*>(managed->dl_tensor.data)[0], 1.5f);
  managed->deleter(managed);
  const float* const data = tensor.flat<float>().data();
  tensor.mutable_flat<float>()[0] = 8;
  EXPECT_EQ(tensor.flat<float>().data(), data) << "the deleter releases the memory";
}

TEST(ToDLPackTest, ExportsSmallAndEmptyTensors) {
  DLManagedTensor* managed = nullptr;
  {
    const Tensor tensor = Tensor::scalar<int64_t>(42);
    managed = to_dlpack(tensor);
  }
  EXPECT_EQ(managed->dl_tensor.ndim, 0);
  EXPECT_EQ(*static_cast<const int64_t*>(managed->dl_tensor.data), 42);
  managed->deleter(managed);
  EXPECT_EQ(from_dlpack(to_dlpack(Tensor::zeros<float>({0, 3}))), Tensor::zeros<float>({0, 3}));
}

TEST(ToDLPackTest, ABorrowedTensorCanBeExported) {
  Foreign foreign;
  DLManagedTensor* const managed = to_dlpack(from_dlpack(&foreign.managed));
  EXPECT_EQ(managed->dl_tensor.data, foreign.numbers);
  EXPECT_EQ(foreign.num_deleted, 0);
  managed->deleter(managed);
  EXPECT_EQ(foreign.num_deleted, 1);
}

TEST(ToDLPackTest, ACopyMayBeWrittenTo) {
  const Tensor tensor = Tensor::from(std::vector<float>(20, 1.5f));
  DLManagedTensor* const managed = to_dlpack_copy(tensor);
  static_cast<float*>(managed->dl_tensor.data)[0] = 7;
  EXPECT_EQ(tensor.flat<float>()[0], 1.5f);
  const Tensor back = from_dlpack(managed);
  EXPECT_EQ(back.flat<float>()[0], 7);
}

TEST(ToDLPackTest, RejectsTypesThatDLPackLacks) {
  EXPECT_THAT([] { to_dlpack(Tensor::from({"cat"})); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("type string")));
  for (const DType dtype :
       {DType::kQint8, DType::kQuint8, DType::kQint16, DType::kQuint16, DType::kQint32}) {
    EXPECT_THROW(to_dlpack(Tensor(dtype, {2})), InvalidArgumentError);
    EXPECT_THROW(to_dlpack_copy(Tensor(dtype, {2})), InvalidArgumentError);
  }
  EXPECT_THROW(to_dlpack(Tensor()), InvalidArgumentError);
  EXPECT_THROW(to_dlpack_copy(Tensor()), InvalidArgumentError);
  EXPECT_THROW(to_dlpack_copy(Tensor::from({"cat"})), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
