// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/weights.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using libtorch::load_weights;
using libtorch::save_weights;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// The module of tests/golden/torch/make_torch.py.
struct GoldenNetImpl : torch::nn::Module {
  explicit GoldenNetImpl(bool head_bias = false, bool is_tied = false) {
    const auto options = torch::nn::LinearOptions(2, 2).bias(head_bias);
    head = register_module("head", torch::nn::Sequential(torch::nn::Linear(options)));
    if (is_tied) register_parameter("tied", fc->weight);
  }

  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(3, 2));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(2));
  torch::nn::Sequential head;
};
TORCH_MODULE(GoldenNet);

std::string golden_weights(const std::string& name) {
  return std::string(CROCHET_SOURCE_DIR) + "/tests/golden/torch/" + name;
}

// All parameters and buffers, under all of their names.
TensorMap contents_of(const torch::nn::Module& module) {
  TensorMap contents;
  for (const auto& item : module.named_parameters())
    contents[item.key()] = libtorch::to_tensor(item.value());
  for (const auto& item : module.named_buffers())
    contents[item.key()] = libtorch::to_tensor(item.value());
  return contents;
}

std::map<std::string, void*> memory_of(const torch::nn::Module& module) {
  std::map<std::string, void*> memory;
  for (const auto& item : module.named_parameters()) memory[item.key()] = item.value().data_ptr();
  for (const auto& item : module.named_buffers()) memory[item.key()] = item.value().data_ptr();
  return memory;
}

class WeightsTest : public testing::Test {
 protected:
  void write(const std::string& prefix, const TensorMap& tensors) {
    const auto writer = new_checkpoint_writer(CheckpointFormat::kSafetensors, files_, prefix);
    for (const auto& [name, tensor] : tensors) writer->add(name, tensor);
    writer->finish();
  }

  LogCapture log_;
  MemoryFileSystem files_;
};

TEST_F(WeightsTest, WritesPythonsNames) {
  GoldenNet net;
  save_weights(*net, "runs/net.safetensors", &files_);
  const CheckpointReader reader("runs/net.safetensors", files_);
  EXPECT_EQ(read_all(reader), contents_of(*net));
  EXPECT_EQ(read_all(reader).size(), 8U);
  EXPECT_EQ(reader.read("norm.num_batches_tracked"), Tensor::scalar<int64_t>(0));
  EXPECT_EQ(reader.metadata().at("format"), "pt");
  EXPECT_THAT(files_.list("runs"), ElementsAre("net.safetensors"));
}

TEST_F(WeightsTest, LoadsWhatItWroteIntoTheSameMemory) {
  GoldenNet written, read;
  written->norm->running_mean.fill_(3);
  written->norm->num_batches_tracked.fill_(4);
  save_weights(*written, "net.safetensors", &files_);
  ASSERT_NE(contents_of(*read), contents_of(*written));
  const auto memory = memory_of(*read);
  const RestoreReport report = load_weights(*read, "net.safetensors", &files_);
  EXPECT_EQ(contents_of(*read), contents_of(*written));
  EXPECT_EQ(memory_of(*read), memory);
  EXPECT_EQ(report.restored.size(), 8U);
  EXPECT_TRUE(read->fc->weight.requires_grad());
}

TEST_F(WeightsTest, LoadsFilesOfPython) {
  for (const std::string name : {"state_dict.pt", "state_dict.safetensors"}) {
    GoldenNet net(false, true);
    load_weights(*net, golden_weights(name));
    EXPECT_EQ(contents_of(*net), read_all(CheckpointReader(golden_weights(name)))) << name;
  }
  for (const std::string name : {"script.pt", "script.safetensors"}) {
    GoldenNet net;
    load_weights(*net, golden_weights(name));
    EXPECT_EQ(contents_of(*net), read_all(CheckpointReader(golden_weights(name)))) << name;
  }
}

TEST_F(WeightsTest, LoadsFilesOfLibTorch) {
  for (const std::string name : {"libtorch_module.pt", "libtorch_module.safetensors"}) {
    GoldenNet net(true);
    load_weights(*net, golden_weights(name));
    EXPECT_EQ(contents_of(*net), read_all(CheckpointReader(golden_weights(name)))) << name;
  }
}

TEST_F(WeightsTest, LoadsAPartOfANestedFileOfPython) {
  GoldenNet net(false, true);
  const RestoreReport report = load_weights(*net, {.from = golden_weights("checkpoint.pt"),
                                                   .rename = {{"*", "model/*"}},
                                                   .allow_surplus = true});
  const CheckpointReader reader(golden_weights("checkpoint.pt"));
  for (const auto& [name, value] : contents_of(*net))
    EXPECT_EQ(value, reader.read("model/" + name)) << name;
  EXPECT_EQ(report.renamed.at("fc.bias"), "model/fc.bias");
  EXPECT_THAT(report.surplus, testing::Contains("epoch"));
}

TEST_F(WeightsTest, LoadsTheModelOfARun) {
  GoldenNet net, read;
  Loop loop({.checkpoint = {.dir = "runs/net"},
             .hooks = {StopAtStepHook({.last_step = 1})},
             .files = &files_});
  loop.track("model", net);
  loop.run([&] { net->norm->running_mean.add_(1); });
  load_weights(*read, {.from = "runs/net", .rename = {{"*", "model/*"}}, .allow_surplus = true},
               &files_);
  EXPECT_EQ(contents_of(*read), contents_of(*net));

  GoldenNet by_load;
  crochet::load("runs/net", {{"model", by_load}}, &files_);
  EXPECT_EQ(contents_of(*by_load), contents_of(*net));
}

TEST_F(WeightsTest, StoresATiedWeightUnderEachName) {
  GoldenNet net(false, true), read(false, true);
  save_weights(*net, "net.safetensors", &files_);
  const CheckpointReader reader("net.safetensors", files_);
  EXPECT_EQ(reader.read("tied"), reader.read("fc.weight"));
  const RestoreReport report = load_weights(*read, "net.safetensors", &files_);
  EXPECT_EQ(report.restored.size(), 9U);
  EXPECT_EQ(contents_of(*read), contents_of(*net));
  EXPECT_TRUE(read->fc->weight.is_same(read->named_parameters()["tied"]));
}

// Python's safetensors.torch.save_model leaves out all names but one.
TEST_F(WeightsTest, LoadsATiedWeightByAnyName) {
  GoldenNet golden(false, true);
  load_weights(*golden, golden_weights("state_dict.pt"));
  GoldenNet by_second(false, true), by_first(false, true);
  load_weights(*by_second, golden_weights("shared.safetensors"));
  EXPECT_EQ(contents_of(*by_second), contents_of(*golden));
  load_weights(*by_first, {.from = golden_weights("script.pt")});
  EXPECT_EQ(by_first->named_parameters()["tied"].data_ptr(), by_first->fc->weight.data_ptr());

  TensorMap renamed;
  for (const auto& [name, value] : contents_of(*golden))
    if (name != "fc.weight") renamed["module." + name] = value;
  write("renamed", renamed);
  GoldenNet by_other(false, true);
  load_weights(*by_other, {.from = "renamed.safetensors", .rename = {{"*", "module.*"}}}, &files_);
  EXPECT_EQ(contents_of(*by_other), contents_of(*golden));
}

TEST_F(WeightsTest, RefusesTwoValuesForATiedWeight) {
  GoldenNet net(false, true);
  const TensorMap before = contents_of(*net);
  TensorMap values = before;
  values["tied"] = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  write("net", values);
  EXPECT_THAT([&] { load_weights(*net, "net.safetensors", &files_); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("net: found different values for"), HasSubstr("\"fc.weight\""),
                        HasSubstr("\"tied\""))));
  EXPECT_EQ(contents_of(*net), before);
}

TEST_F(WeightsTest, ReportsAllDifferencesAtOnce) {
  GoldenNet net;
  const TensorMap before = contents_of(*net);
  TensorMap values = before;
  values.erase("fc.bias");
  values["fc.weight"] = Tensor::from(std::vector<float>(9), {3, 3});
  values["norm.weight"] = Tensor::from(std::vector<double>(2), {2});
  values["norm.num_batches_tracked"] = Tensor::from(std::vector<int64_t>(2), {2});
  values["tail.weight"] = Tensor::from(std::vector<float>(7), {7});
  write("net", values);
  EXPECT_THAT([&] { load_weights(*net, "net.safetensors", &files_); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(testing::StartsWith("net lacks \"fc.bias\" (float32 [2])"),
                        HasSubstr("\"fc.weight\" as float32 [3,3], where this program has float32 "
                                  "[2,3]"),
                        HasSubstr("\"norm.weight\" as float64 [2], where this program has float32"),
                        HasSubstr("\"norm.num_batches_tracked\" as int64 [2]"),
                        HasSubstr("\"tail.weight\" (float32 [7])"),
                        HasSubstr(".allow_missing = {\"fc.bias\"}"))));
  EXPECT_EQ(contents_of(*net), before);

  const RestoreReport report =
      load_weights(*net,
                   {.from = "net.safetensors",
                    .allow_missing = {"fc.bias"},
                    .allow_mismatched = {"fc.weight", "norm.num_batches_tracked"},
                    .allow_surplus = {"tail.*"},
                    .convert_dtype = true},
                   &files_);
  EXPECT_THAT(report.missing,
              testing::UnorderedElementsAre("fc.bias", "fc.weight", "norm.num_batches_tracked"));
  EXPECT_THAT(report.converted, ElementsAre("norm.weight"));
  EXPECT_THAT(report.surplus, ElementsAre("tail.weight"));
  EXPECT_EQ(contents_of(*net).at("fc.weight"), before.at("fc.weight"));
  EXPECT_EQ(contents_of(*net).at("norm.weight"), Tensor::from(std::vector<float>(2), {2}));
}

TEST_F(WeightsTest, LoadsASelection) {
  GoldenNet net;
  const TensorMap before = contents_of(*net);
  load_weights(*net, {.from = golden_weights("script.pt"), .only = {"fc.*"}});
  const CheckpointReader reader(golden_weights("script.pt"));
  EXPECT_EQ(contents_of(*net).at("fc.weight"), reader.read("fc.weight"));
  EXPECT_EQ(contents_of(*net).at("head.0.weight"), before.at("head.0.weight"));
}

TEST_F(WeightsTest, KeepsTypesAndLayouts) {
  struct Kinds : torch::nn::Module {
    explicit Kinds(double start) {
      const at::Tensor numbers = at::arange(24, at::kDouble).add(start);
      register_parameter(
          "channels_last",
          numbers.to(at::kFloat).reshape({1, 2, 3, 4}).to(at::MemoryFormat::ChannelsLast));
      register_parameter("transposed", numbers.to(at::kHalf).reshape({4, 6}).t());
      register_parameter("bfloat16", numbers.to(at::kBFloat16));
      register_parameter("complex", at::complex(numbers, -numbers));
      register_buffer("conjugated", at::complex(numbers, numbers).conj());
      register_buffer("bool", numbers.to(at::kInt).bitwise_and(1).to(at::kBool));
      register_buffer("byte", numbers.to(at::kByte));
      register_buffer("empty", at::empty({0, 3}));
      register_buffer("undefined", at::Tensor());
    }
  };
  const Kinds written(1);
  Kinds read(0);
  const auto strides = [&] { return read.named_parameters()["channels_last"].strides().vec(); };
  const auto strides_before = strides();
  const auto memory = memory_of(read);
  save_weights(written, "net.safetensors", &files_);
  ASSERT_NE(contents_of(read), contents_of(written));
  load_weights(read, "net.safetensors", &files_);
  EXPECT_EQ(contents_of(read), contents_of(written));
  EXPECT_EQ(memory_of(read), memory);
  EXPECT_EQ(strides(), strides_before);
}

TEST_F(WeightsTest, RefusesTensorsThatFilesCannotHaveByName) {
  struct Quantized : torch::nn::Module {
    Quantized() {
      register_buffer("scale", at::quantize_per_tensor(at::ones({2}), 0.5, 0, at::kQUInt8));
    }
  };
  Quantized net;
  EXPECT_THAT([&] { save_weights(net, "net.safetensors", &files_); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("tensor \"scale\": found QUInt8 [2]")));
  EXPECT_FALSE(files_.exists("net.safetensors"));
  EXPECT_THAT([&] { load_weights(net, golden_weights("script.pt")); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("tensor \"scale\"")));
}

TEST_F(WeightsTest, RefusesPathsByName) {
  GoldenNet net;
  EXPECT_THAT([&] { save_weights(*net, "net.pt", &files_); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "found the path \"net.pt\", expected one that ends with \".safetensors\"")));
  EXPECT_THAT([&] { load_weights(*net, "", &files_); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("load_weights: the path is empty")));
  EXPECT_THAT([&] { load_weights(*net, "net.safetensors", &files_); },
              ThrowsMessage<NotFoundError>(HasSubstr("net.safetensors")));
}

// torch.save(module), not only torch.save(module.state_dict()).
TEST_F(WeightsTest, LoadsAModuleThatPythonSaved) {
  GoldenNet net;
  load_weights(*net, golden_weights("module.pt"));
  EXPECT_EQ(contents_of(*net), read_all(CheckpointReader(golden_weights("module.pt"))));
}

TEST_F(WeightsTest, RefusesFilesOfOtherTensors) {
  GoldenNet net;
  const TensorMap before = contents_of(*net);
  for (const std::string name : {"legacy.pt", "quantized.pt", "sparse.pt"}) {
    EXPECT_THAT([&] { load_weights(*net, golden_weights(name)); },
                ThrowsMessage<Error>(AllOf(HasSubstr(name), HasSubstr("\"fc.weight\""))));
  }
  EXPECT_EQ(contents_of(*net), before);
}

TEST_F(WeightsTest, ADamagedFileChangesNothing) {
  GoldenNet net;
  const TensorMap before = contents_of(*net);
  GoldenNet other;
  save_weights(*other, "good.safetensors", &files_);
  internal::put_file(files_, "good.pt",
                     read_file(FileSystem::posix(), golden_weights("script.pt")));
  AttackCount damaged("damaged_files");
  for (const std::string suffix : {".safetensors", ".pt"}) {
    const std::string good = read_file(files_, "good" + suffix);
    const auto check = [&](const std::string& bytes, size_t place) {
      internal::put_file(files_, "bad" + suffix, bytes);
      damaged.add();
      try {
        load_weights(*net, "bad" + suffix, &files_);
        // Not all bytes of a zip archive belong to its tensors.
        ASSERT_EQ(suffix, ".pt") << "byte " << place;
        const TensorMap expected = read_all(CheckpointReader("good.pt", files_));
        ASSERT_EQ(contents_of(*net), expected) << "byte " << place;
        GoldenNet fresh;
        for (const auto& item : net->named_parameters()) item.value().data().zero_();
        for (const auto& item : net->named_buffers()) item.value().zero_();
        write("before", before);
        load_weights(*net, "before.safetensors", &files_);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("bad")) << "byte " << place;
        ASSERT_EQ(contents_of(*net), before) << "byte " << place;
      }
    };
    for (size_t i = 0; i < good.size(); i += suffix == ".pt" ? 7 : 1) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ 0x20);
      check(bytes, i);
    }
    for (size_t length = 0; length < good.size(); length += 13)
      check(good.substr(0, length), length);
  }
}

TEST_F(WeightsTest, AFailedSaveLeavesTheOldFile) {
  GoldenNet old_net, new_net;
  int64_t n = 0;
  for (;; ++n) {
    MemoryFileSystem disk;
    save_weights(*old_net, "net.safetensors", &disk);
    FailingFileSystem files(disk);
    files.fail_operation_with_errno(n, EIO, Failing::kFromThenOn);
    bool is_saved = true;
    try {
      save_weights(*new_net, "net.safetensors", &files);
    } catch (const Error&) {
      is_saved = false;
    }
    disk.power_cut();
    const TensorMap found = read_all(CheckpointReader("net.safetensors", disk));
    if (files.num_failures() == 0) {
      EXPECT_TRUE(is_saved);
      EXPECT_EQ(found, contents_of(*new_net));
      break;
    }
    EXPECT_FALSE(is_saved) << "operation " << n;
    EXPECT_TRUE(found == contents_of(*old_net)) << "operation " << n;
  }
  EXPECT_GE(n, 4);
}

}  // namespace
}  // namespace crochet
