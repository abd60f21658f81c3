// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

const DType kFixedSizeTypes[] = {
    DType::kFloat,
    DType::kDouble,
    DType::kInt32,
    DType::kUint8,
    DType::kInt16,
    DType::kInt8,
    DType::kComplex64,
    DType::kInt64,
    DType::kBool,
    DType::kQint8,
    DType::kQuint8,
    DType::kQint32,
    DType::kBfloat16,
    DType::kQint16,
    DType::kQuint16,
    DType::kUint16,
    DType::kComplex128,
    DType::kHalf,
    DType::kUint32,
    DType::kUint64,
    DType::kFloat8E5m2,
    DType::kFloat8E4m3fn,
    DType::kFloat8E4m3b11fnuz,
    DType::kInt4,
    DType::kUint2,
    DType::kFloat4E2m1fn,
};

// Bytes that differ from one seed to the next.
Tensor filled(DType dtype, const Shape& shape, int seed) {
  Tensor tensor(dtype, shape);
  auto next = static_cast<unsigned char>(seed);
  for (std::byte& byte : tensor.mutable_bytes())
    byte = dtype == DType::kBool ? std::byte(++next % 2) : std::byte(next = next * 5 + 3);
  return tensor;
}

void expect_round_trip(FileSystem& files, const std::string& prefix, const TensorMap& tensors) {
  internal::BundleWriter writer(files, prefix);
  // Not in the order of the names, which is the index's.
  for (auto item = tensors.rbegin(); item != tensors.rend(); ++item)
    writer.add(item->first, item->second);
  writer.finish();

  const CheckpointReader reader(prefix, files);
  reader.verify();
  ASSERT_EQ(reader.tensors().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const TensorInfo& info = reader.tensors().at(name);
    ASSERT_EQ(info.dtype, tensor.dtype()) << name;
    ASSERT_EQ(info.shape, tensor.shape()) << name;
    ASSERT_EQ(reader.read(name), tensor) << name;
  }
}

// TB-2, TB-6
TEST(BundleRoundTripTest, AllTypesOfFixedSizeAndManyShapes) {
  MemoryFileSystem files;
  TensorMap tensors;
  int seed = 0;
  for (const DType dtype : kFixedSizeTypes)
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{2, 3}, Shape{3, 0, 5},
                               Shape{1, 2, 1, 3, 1, 1, 2, 1, 1}})
      tensors[fmt::format("{}/{}", dtype, shape)] = filled(dtype, shape, ++seed);
  expect_round_trip(files, "m-1", tensors);
}

// TB-8
TEST(BundleRoundTripTest, StringsAmongNumbers) {
  MemoryFileSystem files;
  expect_round_trip(files, "m-1",
                    {{"a", filled(DType::kFloat, {3, 5}, 1)},
                     {"empty", Tensor::from({"", "", ""}, {3, 1})},
                     {"long", Tensor::from({"x", std::string((3 << 20) + 1, 'y'), ""})},
                     {"m", filled(DType::kFloat, {2}, 2)},
                     {"none", Tensor::from(std::vector<std::string>{}, {0, 4})},
                     {"one", Tensor::scalar("hello")},
                     {"short", Tensor::from({"a", "bc", std::string(1, '\0'), "\xff"}, {2, 2})},
                     {"z", filled(DType::kDouble, {}, 3)}});
}

TEST(BundleRoundTripTest, AnEmptyBundle) {
  MemoryFileSystem files;
  expect_round_trip(files, "m-1", {});
}

TEST(BundleRoundTripTest, NamesOfAnyBytes) {
  MemoryFileSystem files;
  TensorMap tensors;
  for (const std::string& name :
       {std::string("a b"), std::string("a\0b", 3), std::string("\xff\xff"), std::string("ü/ö"),
        std::string(5000, 'n'), std::string("\x01")})
    tensors[name] = filled(DType::kInt32, {2}, static_cast<int>(name.size()));
  expect_round_trip(files, "m-1", tensors);
}

TEST(BundleRoundTripTest, ManyEntriesOnDisk) {
  const TempDirectory directory;
  TensorMap tensors;
  for (int i = 0; i < 100'000; ++i)
    tensors[fmt::format("layer/{}", i)] = Tensor::scalar<int32_t>(i);
  expect_round_trip(FileSystem::posix(), directory / "m-1", tensors);
}

TEST(BundleRoundTripTest, LargeTensorsOnDisk) {
  const TempDirectory directory;
  expect_round_trip(FileSystem::posix(), directory / "m-1",
                    {{"a", filled(DType::kDouble, {1000, 1001}, 1)},
                     {"b", filled(DType::kUint8, {(1 << 20) + 1}, 2)},
                     {"c", filled(DType::kFloat, {1 << 18}, 3)}});
}

}  // namespace
}  // namespace crochet
