// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/checkpoint_pass.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/tensor_slice.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"

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
  internal::SafetensorsWriter writer(files, "m", {.checksums = false});
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
  std::vector<internal::TensorRequest> requests;
  for (const std::string& name : names_in(reader)) requests.push_back({name});
  internal::CheckpointPass pass(reader, requests);
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

Tensor ones(const Shape& shape) {
  return Tensor::from(std::vector<float>(static_cast<size_t>(shape.num_elements()), 1), shape);
}

// One file for each protocol of pickles and each container: what a trainer saves beyond weights.
TEST(GoldenTorchTest, ReadsTheFilesOfTrainersAndListsWhatItCannotRead) {
  for (const std::string name : {"trainer", "trainer3", "trainer4", "trainer5", "trainer_legacy"}) {
    SCOPED_TRACE(name);
    const CheckpointReader reader(golden_torch(name + ".pt"));
    reader.verify();
    const auto is = [&](const std::string& value, const Tensor& expected) {
      ASSERT_TRUE(reader.contains(value)) << value;
      EXPECT_EQ(reader.read(value), expected) << value;
    };
    is("model/w", counting(DType::kFloat, {2, 2}));
    is("args/lr", Tensor::scalar(0.5));
    is("args/layers", Tensor::from<int64_t>({2, 3}));
    is("cycle/inner/0", Tensor::scalar<int64_t>(1));
    is("default/a", Tensor::scalar<int64_t>(1));
    is("deque", Tensor::from<int64_t>({1, 2}));
    is("hyper/a", ones({1}));
    is("hyper/b", Tensor::scalar<int64_t>(2));
    is("keys/('a', 1)", Tensor::scalar<int64_t>(1));
    is("keys/True", Tensor::scalar<int64_t>(2));
    is("keys/2.5", Tensor::scalar<int64_t>(3));
    is("keys/None", Tensor::scalar<int64_t>(4));
    is("keys/7", Tensor::scalar<int64_t>(5));
    is("keys/", Tensor::scalar<int64_t>(6));
    is("large", Tensor::scalar(UINT64_MAX));
    is("point/0", ones({1}));
    is("point/1", Tensor::scalar<int64_t>(2));
    is("seed", Tensor::scalar(uint64_t{1} << 63));
    EXPECT_EQ(reader.read("version").dtype(), DType::kString);
    EXPECT_EQ(reader.read("module/0.weight").shape(), (Shape{1, 1}));
    EXPECT_EQ(reader.read("rng").shape(), (Shape{4}));
    std::map<std::string, std::string> reasons;
    for (const auto& [value, unreadable] : reader.unreadable()) {
      EXPECT_EQ(unreadable.code, Code::kUnimplemented);
      EXPECT_THROW(reader.read(value), UnimplementedError);
      reasons[value] = unreadable.why.substr(0, unreadable.why.find(" (byte"));
    }
    const std::string bytes = reasons["bytes"];
    EXPECT_TRUE(bytes == "is bytes" || bytes.starts_with("is made by _codecs.encode")) << bytes;
    EXPECT_THAT(reasons["best"], HasSubstr("is made by numpy"));
    EXPECT_THAT(reasons["cycle/inner/2"], HasSubstr("contains itself"));
    EXPECT_THAT(reasons["expanded"], HasSubstr("repeats few elements in [4096,4096]"));
    EXPECT_THAT(reasons["function"], HasSubstr("is the class or function torch.nn.functional"));
    EXPECT_THAT(reasons["huge"], HasSubstr("is an integer of 9 bytes, expected at most 8"));
    EXPECT_THAT(reasons["keys/<key 6>"], HasSubstr("as its key"));
    EXPECT_THAT(reasons["sparse"], HasSubstr("is made by torch._utils._rebuild_sparse_tensor"));
    EXPECT_EQ(reasons["twice/a"], "is the name of two values");
    std::vector<std::string> names;
    for (const auto& [value, reason] : reasons) names.push_back(value);
    EXPECT_THAT(names,
                testing::ElementsAre("args/path", "best", "bytes", "color", "complex",
                                     "cycle/inner/2", "date", "expanded", "function", "huge",
                                     "keys/<key 6>", "numpy", "range", "set", "sparse", "twice/a"));
  }
}

TEST(GoldenTorchTest, ReadsTheFormatBeforeTorch16) {
  for (const std::string name : {"views_legacy.pt", "views_legacy4.pt"}) {
    EXPECT_EQ(values_of(name), values_of("views.pt")) << name;
    EXPECT_FALSE(CheckpointReader(golden_torch(name)).has_checksums());
  }
  EXPECT_EQ(values_of("legacy.pt"), (TensorMap{{"w", ones({2})}}));
}

TEST(GoldenTorchTest, AModuleHasTheNamesOfItsStateDict) {
  std::vector<std::string> names = names_in(CheckpointReader(golden_torch("state_dict.pt")));
  std::erase(names, "tied");
  EXPECT_EQ(names_in(CheckpointReader(golden_torch("module.pt"))), names);
}

void expect_unreadable(const std::string& name, const std::string& what) {
  const CheckpointReader reader(golden_torch(name));
  reader.verify();
  ASSERT_EQ(reader.unreadable().size(), 1) << name;
  EXPECT_THAT(reader.unreadable().at("w").why, HasSubstr(what));
  EXPECT_THAT([&] { reader.read("w"); },
              ThrowsMessage<UnimplementedError>(AllOf(HasSubstr(name), HasSubstr(what))));
}

TEST(GoldenTorchTest, ListsTensorsThatAreMoreThanTheirElements) {
  expect_unreadable("quantized.pt", "is made by torch._utils._rebuild_qtensor");
  expect_unreadable("sparse.pt", "is made by torch._utils._rebuild_sparse_tensor");
  expect_unreadable("conjugated.pt", "is a conjugated or negated view");
}

}  // namespace
}  // namespace crochet
