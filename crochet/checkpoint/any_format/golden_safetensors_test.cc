// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/checkpoint_contents.h"

namespace crochet {
namespace {

// Files written by Python's package; the README next to them describes how.

std::string golden_safetensors(std::string_view name) {
  return fmt::format("{}/tests/golden/safetensors/{}", CROCHET_SOURCE_DIR, name);
}

std::string golden_bytes(const std::string& name) {
  return read_file(FileSystem::posix(), golden_safetensors(name + ".safetensors"));
}

TensorMap safetensors_types() {
  TensorMap tensors = {{"empty", Tensor::zeros<float>({0, 5})},
                       {"global_step", Tensor::scalar<int64_t>(7)},
                       {"high_rank", counting(DType::kInt32, {1, 2, 1, 3, 1, 1})},
                       {"\"quoted\"\\\n\t\x01\x7f \xc3\xa9", counting(DType::kUint8, {3})}};
  for (const DType dtype :
       {DType::kBfloat16, DType::kBool, DType::kComplex64, DType::kHalf, DType::kFloat,
        DType::kDouble, DType::kInt16, DType::kInt32, DType::kInt64, DType::kInt8, DType::kUint16,
        DType::kUint32, DType::kUint64, DType::kUint8})
    tensors.emplace(fmt::format("types/{}", dtype), counting(dtype, {2, 3}));
  return tensors;
}

TensorMap verified(const CheckpointReader& reader) {
  reader.verify();
  return read_all(reader);
}

std::string written(const TensorMap& tensors,
                    const std::map<std::string, std::string, std::less<>>& metadata = {}) {
  MemoryFileSystem files;
  internal::SafetensorsWriter writer(files, "m", {.checksums = false, .metadata = metadata});
  for (const auto& [name, tensor] : tensors) writer.add(name, tensor);
  writer.finish();
  return read_file(files, "m.safetensors");
}

TEST(GoldenSafetensorsTest, ReadsWhatPythonWrote) {
  const CheckpointReader reader(golden_safetensors("types"));
  EXPECT_FALSE(reader.has_checksums());
  EXPECT_EQ(verified(reader), safetensors_types());
  EXPECT_EQ(verified(CheckpointReader(golden_safetensors("types.safetensors"))),
            safetensors_types());
  EXPECT_TRUE(verified(CheckpointReader(golden_safetensors("none"))).empty());
  EXPECT_EQ(CheckpointReader(golden_safetensors("metadata")).metadata().at("format"), "np");
}

TEST(GoldenSafetensorsTest, ReadsSeveralFiles) {
  const CheckpointReader reader(golden_safetensors("shards"));
  EXPECT_EQ(verified(reader), (TensorMap{{"a", counting(DType::kFloat, {2, 2})},
                                         {"b", counting(DType::kInt8, {3})}}));
}

TEST(GoldenSafetensorsTest, WritesTheSameBytes) {
  EXPECT_EQ(written(safetensors_types()), golden_bytes("types"));
  EXPECT_EQ(written({}), golden_bytes("none"));
  EXPECT_EQ(written({{"w", counting(DType::kFloat, {2})}}, {{"format", "np"}}),
            golden_bytes("metadata"));
}

}  // namespace
}  // namespace crochet
