// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Sizes beyond 32 bits. They need 5 GB of memory and of disk, and minutes: run by
// scripts/large-tests, skipped otherwise.
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

class LargeBundleTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("CROCHET_LARGE_TESTS") == nullptr)
      GTEST_SKIP() << "CROCHET_LARGE_TESTS is not set";
  }

  const TempDirectory directory_;
};

// TB-8: strings of more than 4 GiB, whose lengths have 64 bits.
TEST_F(LargeBundleTest, AStringBeyond32BitsAmongOthers) {
  const size_t size = (size_t{1} << 32) + 5;
  const Tensor before = Tensor::from<float>({1, 2, 3});
  const Tensor after = Tensor::from<float>({4});
  uint32_t crc = 0;
  {
    Tensor strings = Tensor::from({"short", "", "last"});
    std::string& large = strings.mutable_strings()[1];
    large.assign(size, 'x');
    for (size_t i = 0; i < size; i += 4099) large[i] = static_cast<char>(i >> 12);
    crc = internal::crc32c(large);
    internal::BundleWriter writer(FileSystem::posix(), directory_ / "m");
    writer.add("before", before);
    writer.add("strings", strings);
    writer.add("z", after);
    writer.finish();
  }
  const CheckpointReader reader(directory_ / "m");
  EXPECT_EQ(reader.read("before"), before);
  EXPECT_EQ(reader.read("z"), after);
  const Tensor strings = reader.read("strings");
  EXPECT_EQ(strings.strings()[0], "short");
  EXPECT_EQ(strings.strings()[2], "last");
  ASSERT_EQ(strings.strings()[1].size(), size);
  EXPECT_EQ(internal::crc32c(strings.strings()[1]), crc);
}

// XX-2: a variable of 2^31 elements in four slices.
TEST_F(LargeBundleTest, APartitionedVariableBeyond31Bits) {
  constexpr int kNumParts = 4;
  constexpr int64_t kFullSize = int64_t{1} << 31;
  constexpr int64_t kPartSize = kFullSize / kNumParts;
  ScriptedGraph graph({.counts_steps = false});
  std::vector<SavedVariable> parts;
  for (int i = 0; i < kNumParts; ++i) {
    Tensor value(DType::kUint8, {kPartSize});
    std::memset(value.mutable_bytes().data(), 'a' + i, kPartSize);
    value.mutable_flat<uint8_t>().back() = static_cast<uint8_t>(i);
    const Variable part = graph.variable(fmt::format("part_{}", i), std::move(value));
    parts.push_back(
        SavedVariable(part).as("whole", SaveSliceInfo{{kFullSize}, {{i * kPartSize, kPartSize}}}));
  }
  Saver saver({.var_list = parts});
  const auto session = graph.new_session("");
  saver.save(*session, directory_ / "m");

  const CheckpointReader reader(directory_ / "m");
  EXPECT_EQ(reader.tensors().at("whole").shape, (Shape{kFullSize}));
  EXPECT_EQ(reader.tensors().at("whole").num_slices, size_t{kNumParts});
  EXPECT_EQ(reader.read_slice("whole", {{kFullSize - 2, 2}}), Tensor::from<uint8_t>({'d', 3}));
  const Tensor part = reader.read_slice("whole", {{2 * kPartSize, kPartSize}});
  EXPECT_EQ(part, session->snapshot(graph.variables()).tensors()[2].tensor);
}

}  // namespace
}  // namespace crochet
