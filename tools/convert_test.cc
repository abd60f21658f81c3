// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/signal_guard.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const TensorMap& model() {
  static const TensorMap tensors = {{"adam/w", Tensor::from<double>({1, 2})},
                                    {"model/b", Tensor::from({"x", "y"})},
                                    {"model/w", Tensor::from<float>({1, 2, 3})}};
  return tensors;
}

class ConvertTest : public testing::Test {
 protected:
  ConvertTest() {
    put_checkpoint(files_, "run/m-20", model(),
                   {.step = 20, .unix_time = 1700000000, .metrics = {{"loss", 0.5}}});
  }

  ToolRun convert(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "convert");
    return run(files_, arguments);
  }
  TensorMap tensors(const std::string& prefix) {
    const CheckpointReader reader(prefix, files_);
    TensorMap all;
    for (const auto& [name, info] : reader.tensors()) all.emplace(name, reader.read(name));
    return all;
  }

  MemoryFileSystem files_;
};

TEST_F(ConvertTest, CopiesEveryTensorAndTheSidecar) {
  const ToolRun result = convert({"run", "out/copy-20"});
  EXPECT_EQ(result.code, kSuccess) << result.err;
  EXPECT_THAT(result.out, testing::MatchesRegex("out/copy-20: 3 tensors, [0-9]+\n"));
  EXPECT_EQ(tensors("out/copy-20"), model());
  const auto sidecar = read_sidecar(files_, "out/copy-20");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->step, 20);
  EXPECT_EQ(sidecar->unix_time, 1700000000);
  EXPECT_EQ(sidecar->metrics.at("loss"), 0.5);
  EXPECT_EQ(run(files_, {"verify", "out/copy-20"}).code, kSuccess);
  EXPECT_EQ(run(files_, {"diff", "run", "out"}).code, kSuccess);
}

TEST_F(ConvertTest, RenamesAndOmitsTensors) {
  const ToolRun result = convert({"--ignore", "adam/*", "--rename", "model/w=weights",
                                  "--rename-prefix", "model/=net/", "run", "out/copy"});
  EXPECT_EQ(result.code, kSuccess) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("model/b -> net/b\n"), HasSubstr("model/w -> weights\n"),
                                HasSubstr("2 tensors")));
  EXPECT_EQ(tensors("out/copy"),
            (TensorMap{{"net/b", model().at("model/b")}, {"weights", model().at("model/w")}}));
  EXPECT_EQ(convert({"--rename-regex", "s|(.*)/(.*)|\\2/\\1|", "run", "out/swapped"}).code,
            kSuccess);
  EXPECT_TRUE(tensors("out/swapped").contains("w/adam"));
}

TEST_F(ConvertTest, FillsTensorsAndAddsThem) {
  const ToolRun result =
      convert({"--fill", "model/momentum=float32[2,2]", "--fill", "adam/w=-0.5", "--fill",
               "step=int64[]:1200", "--fill", "names=string[2]:x", "--fill", "done=bool[1]:true",
               "--fill", "empty=float16[0]:1", "run", "out/a"});
  EXPECT_EQ(result.code, kSuccess) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("adam/w: float64 [2], filled with -0.5\n"),
                                HasSubstr("model/momentum: float32 [2,2], filled with 0\n"),
                                HasSubstr("8 tensors")));
  TensorMap expected = model();
  expected["adam/w"] = Tensor::from<double>({-0.5, -0.5});
  expected["model/momentum"] = Tensor::zeros<float>({2, 2});
  expected["step"] = Tensor::scalar<int64_t>(1200);
  expected["names"] = Tensor::from({"x", "x"});
  expected["done"] = Tensor::from<bool>(std::array{true}, {1});
  expected["empty"] = Tensor(DType::kHalf, {0});
  EXPECT_EQ(tensors("out/a"), expected);
  const Json json = convert({"--json", "--only", "model/w", "--fill", "new=int8[3]:7", "run",
                             "out/b.safetensors"})
                        .json();
  EXPECT_EQ(json["tensors"], Json::parse(R"([
      {"from": "model/w", "to": "model/w"},
      {"from": null, "to": "new", "change": "filled with 7"}])"));
  EXPECT_EQ(tensors("out/b.safetensors").at("new"), Tensor::from<int8_t>({7, 7, 7}));
}

TEST_F(ConvertTest, AddsWhatAnotherCheckpointHas) {
  put_checkpoint(files_, "old/m-7",
                 {{"model/w", Tensor::scalar<float>(0)}, {"extra", Tensor::scalar<float>(5)}});
  const ToolRun result = convert({"--add", "old", "run", "out/a"});
  EXPECT_EQ(result.code, kSuccess) << result.err;
  EXPECT_THAT(result.out, HasSubstr("extra: float32 [], added from old/m-7\n"));
  TensorMap expected = model();
  expected["extra"] = Tensor::scalar<float>(5);
  EXPECT_EQ(tensors("out/a"), expected) << "model/w is the source's";
}

TEST_F(ConvertTest, ReportsAsJson) {
  const Json json =
      convert({"--json", "--only", "model/w", "--rename", "model/w=x", "run", "out/a.index"})
          .json();
  EXPECT_EQ(json["source"], "run/m-20");
  EXPECT_EQ(json["target"], "out/a");
  EXPECT_EQ(json["written"], true);
  EXPECT_EQ(json["tensors"], Json::parse(R"([{"from": "model/w", "to": "x"}])"));
  EXPECT_GT(json["size_bytes"], 0);
}

TEST_F(ConvertTest, ADryRunWritesNothing) {
  const ToolRun result = convert({"-n", "--rename", "model/w=x", "run", "out/a"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.out, AllOf(HasSubstr("model/w -> x\n"), HasSubstr("not written")));
  EXPECT_FALSE(files_.exists("out"));
}

TEST_F(ConvertTest, OverwritesOnlyIfForced) {
  put_checkpoint(files_, "out/a", {{"old", Tensor::scalar<float>(1)}});
  const ToolRun refused = convert({"run", "out/a"});
  EXPECT_EQ(refused.code, kTrouble);
  EXPECT_EQ(refused.err, "crochet: out/a.index: exists; --force replaces it\n");
  EXPECT_TRUE(tensors("out/a").contains("old"));
  EXPECT_EQ(convert({"--force", "run", "out/a"}).code, kSuccess);
  EXPECT_EQ(tensors("out/a"), model());
  const ToolRun itself = convert({"--force", "run", "run/m-20"});
  EXPECT_EQ(itself.code, kTrouble);
  EXPECT_THAT(itself.err, HasSubstr("in place"));
  EXPECT_EQ(tensors("run/m-20"), model());
}

TEST_F(ConvertTest, AFailedConversionLeavesNothing) {
  const auto expect_trouble = [&](std::vector<std::string> arguments, const std::string& message) {
    const ToolRun result = convert(std::move(arguments));
    EXPECT_EQ(result.code, kTrouble) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_TRUE(!files_.exists("out") || files_.list("out").empty());
  };
  expect_trouble({"--rename", "typo=x", "run", "out/a"}, "no tensor is called \"typo\"");
  expect_trouble({"--rename", "model/w=model/b", "run", "out/a"}, "would both be called");
  expect_trouble({"--rename", "nonsense", "run", "out/a"}, "expected old=new");
  expect_trouble({"--fill", "nonsense", "run", "out/a"}, "expected");
  expect_trouble({"--fill", "typo=1", "run", "out/a"},
                 "--fill typo=1: there is no tensor \"typo\": add its type and shape, as in "
                 "\"typo=float32[64,128]:1\"");
  expect_trouble({"--fill", "x=float32[2", "run", "out/a"}, "expected <name>=<value>");
  expect_trouble({"--fill", "x=float32[2,]", "run", "out/a"}, "expected <name>=<value>");
  expect_trouble({"--fill", "x=float32[-1]", "run", "out/a"}, "expected <name>=<value>");
  expect_trouble({"--fill", "x=float32[2]7", "run", "out/a"}, "expected <name>=<value>");
  expect_trouble({"--fill", "model/w=many", "run", "out/a"}, "\"many\" is not a number");
  expect_trouble({"--fill", "x=int8[2]:300", "run", "out/a"}, "300");
  expect_trouble({"--fill", "x=complex64[2]:1", "run", "out/a"}, "can only be filled with 0");
  expect_trouble({"--add", "run", "run", "out/a"}, "run/m-20: has nothing that is missing");
  expect_trouble({"--only", "x", "run", "out/a"}, "no such tensor");
  expect_trouble({"run", "out/"}, "expected the name of a checkpoint");
  damage(files_, "run/m-20.data-00000-of-00001", 0);
  expect_trouble({"run", "out/a"}, "crc32c");
}

TEST_F(ConvertTest, ToSafetensorsAndBackIsLossless) {
  const ToolRun there = convert({"run", "out/m-20.safetensors"});
  EXPECT_EQ(there.code, kSuccess) << there.err;
  EXPECT_THAT(there.out, HasSubstr("out/m-20.safetensors: 3 tensors"));
  EXPECT_TRUE(files_.exists("out/m-20.safetensors"));
  EXPECT_EQ(tensors("out/m-20"), model());
  EXPECT_EQ(read_sidecar(files_, "out/m-20")->metrics.at("loss"), 0.5);
  EXPECT_EQ(run(files_, {"verify", "out"}).out, "out/m-20: sound\n");
  EXPECT_EQ(run(files_, {"diff", "run", "out/m-20.safetensors"}).code, kSuccess);
  EXPECT_THAT(run(files_, {"list", "out"}).out, HasSubstr(" m-20.safetensors *\n"));
  EXPECT_EQ(convert({"out", "back/m-20"}).code, kSuccess);
  EXPECT_EQ(tensors("back/m-20"), model());
  EXPECT_EQ(convert({"--to", "safetensors", "run", "x/m"}).code, kSuccess);
  EXPECT_TRUE(files_.exists("x/m.safetensors"));
}

// A run prefers the bundle of two formats; the sidecar remains the bundle's.
TEST_F(ConvertTest, AFileNextToItsBundleChangesNothing) {
  EXPECT_EQ(convert({"--rename", "model/w=w", "run", "run/m-20.safetensors"}).code, kSuccess);
  EXPECT_EQ(run(files_, {"list", "--verify", "run"}).code, kSuccess);
  EXPECT_EQ(tensors("run/m-20"), model());
  EXPECT_THAT(run(files_, {"show", "run/m-20.safetensors"}).out, HasSubstr(" w\n"));
  EXPECT_THAT(run(files_, {"show", "run/m-20"}).out, HasSubstr(" model/w\n"));
  EXPECT_EQ(run(files_, {"verify", "run/m-20.safetensors"}).code, kSuccess);
  EXPECT_EQ(convert({"run", "run/m-20.safetensors"}).code, kTrouble);
  EXPECT_EQ(convert({"--force", "run", "run/m-20.safetensors"}).code, kSuccess);
  EXPECT_EQ(convert({"--force", "run/m-20.safetensors", "run/m-20"}).code, kTrouble);
}

TEST_F(ConvertTest, AnotherFormatOfTheSameNameIsReplacedAsAWhole) {
  EXPECT_EQ(convert({"run", "out/a.safetensors"}).code, kSuccess);
  const ToolRun refused = convert({"run", "out/a"});
  EXPECT_EQ(refused.code, kTrouble);
  EXPECT_EQ(refused.err, "crochet: out/a.safetensors: exists; --force replaces it\n");
  EXPECT_EQ(convert({"--force", "run", "out/a"}).code, kSuccess);
  EXPECT_FALSE(files_.exists("out/a.safetensors"));
  EXPECT_EQ(convert({"--force", "run", "out/a.safetensors"}).code, kSuccess);
  EXPECT_FALSE(files_.exists("out/a.index"));
  EXPECT_EQ(run(files_, {"verify", "out"}).code, kSuccess);
}

// As other programs write them: no checksums, other metadata, and a JSON file next to it.
TEST_F(ConvertTest, SafetensorsOfOtherProgramsKeepTheirMetadata) {
  internal::SafetensorsWriter writer(files_, "theirs/weights",
                                     {.checksums = false, .metadata = {{"format", "pt"}}});
  writer.add("w", Tensor::from<float>({1, 2}));
  writer.finish();
  put_file(files_, "theirs/weights.json", "{\"hidden_size\": 64}");
  const Json shown = run(files_, {"show", "--json", "theirs"}).json();
  EXPECT_EQ(shown["format"], "safetensors");
  EXPECT_EQ(shown["metadata"], Json::parse(R"({"format": "pt"})"));
  EXPECT_EQ(shown["tensors"][0]["mean"], 1.5);
  EXPECT_EQ(run(files_, {"verify", "theirs"}).out,
            "theirs/weights: sound, as far as can be seen without checksums\n");
  EXPECT_EQ(run(files_, {"verify", "--json", "theirs"}).json()["checkpoints"][0]["has_checksums"],
            false);
  const Json listed = run(files_, {"list", "--verify", "--json", "theirs"}).json();
  EXPECT_EQ(listed["checkpoints"][0]["step"], nullptr);
  EXPECT_EQ(convert({"theirs/weights.safetensors", "out/w.safetensors"}).code, kSuccess);
  EXPECT_EQ(CheckpointReader("out/w", files_).metadata().at("format"), "pt");
  EXPECT_TRUE(CheckpointReader("out/w", files_).has_checksums());
  EXPECT_FALSE(files_.exists("out/w.json"));
}

TEST_F(ConvertTest, ASignalLeavesNothing) {
  set_pending_signal(SIGTERM);
  const ToolRun result = convert({"run", "out/a"});
  set_pending_signal(0);
  EXPECT_EQ(result.code, kTrouble);
  EXPECT_EQ(result.err, "crochet: converting cut short by SIGTERM\n");
  EXPECT_THAT(files_.list("out"), IsEmpty());
}

TEST(SignalGuardTest, RecordsOneSignalAndKeepsIgnoredOnesIgnored) {
  const auto handler_of = [](int signal) {
    struct sigaction action = {};
    ::sigaction(signal, nullptr, &action);
    return action.sa_handler;
  };
  void (*const before)(int) = ::signal(SIGHUP, SIG_IGN);
  void (*const interrupt_before)(int) = ::signal(SIGINT, SIG_DFL);  // A background job ignores it.
  {
    const SignalGuard guard;
    ::raise(SIGTERM);
    EXPECT_EQ(pending_signal(), SIGTERM);
    EXPECT_EQ(handler_of(SIGTERM), SIG_DFL);
    EXPECT_NE(handler_of(SIGINT), SIG_DFL);
    EXPECT_EQ(handler_of(SIGHUP), SIG_IGN);
  }
  EXPECT_EQ(handler_of(SIGINT), SIG_DFL);
  ::signal(SIGINT, interrupt_before);
  ::signal(SIGHUP, before);
  set_pending_signal(0);
}

}  // namespace
}  // namespace crochet::tool
