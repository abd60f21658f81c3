// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/tensor/tensor_slice.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor counted(int64_t size) {
  std::vector<float> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), 1.0f);
  return Tensor::from(values);
}

constexpr int64_t kMappedFloats = 50'000;  // Floats: large enough to be mapped rather than read.

class MappedTensorsTest : public testing::Test {
 protected:
  void write(FileSystem& files) {
    internal::BundleWriter writer(files, prefix_);
    writer.add("large", values_.at("large"));
    writer.add("small", values_.at("small"));
    writer.add("words", values_.at("words"));
    writer.add("odd", values_.at("odd"));
    writer.add_slice("parts", {2 * kMappedFloats}, parse_slice("0,50000"), counted(kMappedFloats));
    writer.add_slice("parts", {2 * kMappedFloats}, parse_slice("50000,50000"),
                     counted(kMappedFloats));
    writer.finish();
  }
  void write() { write(FileSystem::posix()); }
  void flip_byte(size_t offset) {
    const std::string path = internal::data_filename(prefix_, 0, 1);
    std::string data = read_file(FileSystem::posix(), path);
    data[offset] ^= 1;
    internal::put_file(FileSystem::posix(), path, data);
  }

  const TempDirectory directory_;
  std::string prefix_ = directory_ / "c";
  const TensorMap values_ = {{"large", counted(kMappedFloats)},
                             {"odd", counted(kMappedFloats)},  // Follows strings of 9 bytes.
                             {"small", counted(10)},
                             {"words", Tensor::from({"a", "bc"})}};
};

TEST_F(MappedTensorsTest, HaveTheSameValuesAsRead) {
  write();
  const CheckpointReader reader(prefix_);
  for (const auto& [name, info] : reader.tensors())
    EXPECT_EQ(reader.map(name), reader.read(name)) << name;
  EXPECT_THROW(reader.map("unknown"), NotFoundError);
}

TEST_F(MappedTensorsTest, BorrowTheFilesPagesIfPossible) {
  write();
  const CheckpointReader reader(prefix_);
  EXPECT_TRUE(reader.map("large").is_shared());
  for (const char* const name : {"small", "odd", "parts"})
    EXPECT_FALSE(reader.map(name).is_shared()) << name;
}

TEST_F(MappedTensorsTest, OutliveTheReaderAndAreNeverWrittenTo) {
  write();
  std::optional<CheckpointReader> reader(prefix_);
  Tensor large = reader->map("large");
  reader.reset();
  large.mutable_flat<float>()[0] = -1;
  EXPECT_EQ(CheckpointReader(prefix_).read("large"), values_.at("large"));
  EXPECT_EQ(large.flat<float>()[1], 2);
}

TEST_F(MappedTensorsTest, AreVerifiedOnDemand) {
  write();
  flip_byte(400);
  const CheckpointReader reader(prefix_);
  EXPECT_NE(reader.map("large"), values_.at("large"));
  EXPECT_THAT([&] { reader.verify("large"); },
              ThrowsMessage<DataLossError>(HasSubstr("crc32c of \"large\"")));
  for (const char* const name : {"small", "words", "odd", "parts"})
    EXPECT_NO_THROW(reader.verify(name)) << name;
  EXPECT_THROW(reader.verify("unknown"), NotFoundError);
}

TEST_F(MappedTensorsTest, OfSlicesAreVerifiedSliceBySlice) {
  write();
  flip_byte(FileSystem::posix().file_size(internal::data_filename(prefix_, 0, 1)) - 1);
  const CheckpointReader reader(prefix_);
  EXPECT_THROW(reader.verify("parts"), DataLossError);
  EXPECT_NO_THROW(reader.verify("large"));
}

TEST_F(MappedTensorsTest, AreRejectedIfTheFileIsTooShort) {
  write();
  FileSystem::posix().truncate(internal::data_filename(prefix_, 0, 1), kMappedFloats * 4 - 1);
  EXPECT_THROW(CheckpointReader(prefix_).map("large"), DataLossError);
}

TEST_F(MappedTensorsTest, AreReadIfMappingIsNotSupported) {
  MemoryFileSystem files;
  prefix_ = "c";
  write(files);
  const CheckpointReader reader("c", files);
  EXPECT_EQ(reader.map("large"), values_.at("large"));
  EXPECT_FALSE(reader.map("large").is_shared());
}

}  // namespace
}  // namespace crochet
