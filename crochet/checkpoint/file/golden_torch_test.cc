// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/file/checkpoint_pass.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/checkpoint/safetensors/safetensors_writer.h"
#include "crochet/tensor/fmt.h"
#include "crochet/tensor/tensor_slice.h"
#include "crochet/testing/checkpoint_contents.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/raw_bundle.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Files written by torch; the README next to them describes how.

std::string golden_torch(std::string_view name) {
  return fmt::format("{}/tests/golden/torch/{}", CROCHET_SOURCE_DIR, name);
}

TensorMap values_of(const std::string& name) {
  const CheckpointReader reader(golden_torch(name));
  reader.verify();
  return read_all(reader);
}

std::vector<std::string> names_in(const CheckpointReader& reader) {
  std::vector<std::string> names;
  for (const auto& [name, info] : reader.tensors()) names.push_back(name);
  return names;
}

TEST(GoldenTorchTest, ReadsTheTensorsThatSafetensorsHas) {
  for (const std::string name : {"state_dict", "views", "script", "types", "libtorch_module"}) {
    const TensorMap values = values_of(name + ".pt");
    EXPECT_GE(values.size(), 8);
    EXPECT_EQ(values, values_of(name + ".safetensors")) << name;
  }
}

// The bytes of the file count from 0; in memory each element has its own.
TEST(GoldenTorchTest, PackedNumbersOfSafetensorsAreCopiedBitByBit) {
  const std::string name = golden_torch("packed.safetensors");
  const TensorMap values = read_all(CheckpointReader(name));
  const Tensor& w = values.at("w");
  EXPECT_EQ(w.dtype(), DType::kFloat4E2m1fn);
  EXPECT_EQ(w.shape(), (Shape{2, 8}));
  EXPECT_EQ(w.bytes()[2], std::byte{1});
  EXPECT_EQ(w.bytes()[3], std::byte{0});
  MemoryFileSystem files;
  SafetensorsWriter writer(files, "m", {.checksums = false});
  writer.add("w", w);
  writer.finish();
  EXPECT_EQ(read_file(files, "m.safetensors"), read_file(FileSystem::posix(), name));
}

TEST(GoldenTorchTest, KnowsItsFormat) {
  const CheckpointReader reader(golden_torch("state_dict.pt"));
  EXPECT_EQ(reader.format(), CheckpointFormat::kTorch);
  EXPECT_STREQ(checkpoint_format_name(reader.format()), "torch");
  EXPECT_TRUE(reader.has_checksums());
  EXPECT_TRUE(reader.metadata().empty());
}

TEST(GoldenTorchTest, NamesTheValuesOfNestedContainers) {
  const TensorMap values = values_of("checkpoint.pt");
  const auto is = [&](const std::string& name, const Tensor& expected) {
    const auto found = values.find(name);
    return found != values.end() && found->second == expected;
  };
  EXPECT_TRUE(is("epoch", Tensor::scalar<int64_t>(3)));
  EXPECT_TRUE(is("best", Tensor::scalar(0.75)));
  EXPECT_TRUE(is("name", Tensor::scalar(std::string("net"))));
  EXPECT_TRUE(is("done", Tensor::scalar(false)));
  EXPECT_TRUE(is("large", Tensor::scalar(int64_t{1} << 40)));
  EXPECT_TRUE(is("negative", Tensor::scalar<int64_t>(-300)));
  EXPECT_TRUE(is("shape", Tensor::from<int64_t>({2, 3})));
  EXPECT_TRUE(is("names", Tensor::from({"a", "b"})));
  Tensor flags = Tensor::zeros<bool>({2});
  flags.mutable_bytes()[0] = std::byte{1};
  EXPECT_TRUE(is("flags", flags));
  EXPECT_TRUE(is("mixed/0", Tensor::scalar<int64_t>(1)));
  EXPECT_TRUE(is("mixed/1", Tensor::scalar(std::string("two"))));
  EXPECT_TRUE(is("mixed/2", Tensor::from<float>({3})));
  EXPECT_TRUE(is("parameter", Tensor::from<float>({1, 1})));
  EXPECT_TRUE(is("by_number/-1", Tensor::scalar<int32_t>(4)));
  EXPECT_TRUE(is("optimizer/param_groups/0/lr", Tensor::scalar(0.125)));
  EXPECT_TRUE(is("optimizer/param_groups/0/betas", Tensor::from<double>({0.9, 0.999})));
  EXPECT_TRUE(is("optimizer/param_groups/0/params", Tensor::from<int64_t>({0, 1, 2, 3, 4})));
  EXPECT_TRUE(is("optimizer/state/0/step", Tensor::scalar(1.0f)));
  EXPECT_EQ(values.at("optimizer/state/0/exp_avg").shape(), (Shape{2, 3}));
  EXPECT_FALSE(values.contains("nothing"));
  EXPECT_FALSE(values.contains("device"));
  EXPECT_FALSE(values.contains("dtype"));
  EXPECT_FALSE(values.contains("empty"));
  for (const auto& [name, tensor] : values_of("state_dict.pt"))
    EXPECT_TRUE(is("model/" + name, tensor)) << name;
}

TEST(GoldenTorchTest, ASingleTensorIsNamedZero) {
  EXPECT_EQ(values_of("tensor.pt"), (TensorMap{{"0", counting(DType::kInt64, {2})}}));
}

TEST(GoldenTorchTest, ReadsSlicesAndPassesOfViews) {
  const CheckpointReader reader(golden_torch("views.pt"));
  const Tensor whole = reader.read("transposed");
  EXPECT_EQ(reader.read_slice("transposed", parse_slice("1,2:0,3")),
            CheckpointReader(golden_torch("views.safetensors"))
                .read_slice("transposed", parse_slice("1,2:0,3")));
  std::vector<TensorRequest> requests;
  for (const std::string& name : names_in(reader)) requests.push_back({name});
  CheckpointPass pass(reader, requests);
  for (const size_t i : pass.order())
    EXPECT_EQ(pass.read(i), reader.read(requests[i].name)) << requests[i].name;
  EXPECT_EQ(reader.map("transposed"), whole);
}

TEST(GoldenTorchTest, AFileMayHaveAnyName) {
  MemoryFileSystem files;
  internal::put_file(files, "epoch=3-step=100.ckpt",
                     read_file(FileSystem::posix(), golden_torch("state_dict.pt")));
  EXPECT_EQ(read_all(CheckpointReader("epoch=3-step=100.ckpt", files)), values_of("state_dict.pt"));
}

TEST(GoldenTorchTest, ReadsAFileWithoutChecksums) {
  const CheckpointReader reader(golden_torch("no_crc.pt"));
  EXPECT_FALSE(reader.has_checksums());
  reader.verify();
  EXPECT_EQ(read_all(reader), (TensorMap{{"w", Tensor::from<float>({1, 1})}}));
}

void expect_refusal(const std::string& name, const std::string& what) {
  EXPECT_THAT([&] { CheckpointReader reader(golden_torch(name)); },
              ThrowsMessage<UnimplementedError>(AllOf(HasSubstr(name), HasSubstr(what))))
      << name;
}

TEST(GoldenTorchTest, RefusesByNameWhatItCannotRead) {
  expect_refusal("legacy.pt", "the format of torch before 1.6");
  expect_refusal("module.pt", "data.pkl: byte 2: found __main__.Net, expected only tensors");
  expect_refusal("protocol4.pt", "found pickle protocol 4");
  expect_refusal("quantized.pt", "found torch._utils._rebuild_qtensor");
  expect_refusal("sparse.pt", "found torch._utils._rebuild_sparse_tensor");
  expect_refusal("conjugated.pt", "\"w\" is a conjugated or negated view");
}

}  // namespace
}  // namespace crochet
