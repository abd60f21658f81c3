// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The commands with files of torch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_torch.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::HasSubstr;

class TorchToolTest : public testing::Test {
 protected:
  TorchToolTest() { put_file(files_, "net.pt", internal::torch_file(tensors_)); }

  const TensorMap tensors_ = {{"fc.bias", Tensor::scalar<int64_t>(7)},
                              {"fc.weight", Tensor::from<float>({1, 2, 3})}};
  MemoryFileSystem files_;
};

TEST_F(TorchToolTest, ShowsTensors) {
  const ToolRun result = run(files_, {"show", "net.pt"});
  EXPECT_EQ(result.code, kSuccess) << result.err;
  EXPECT_EQ(result.out,
            "type     shape  min  max  mean  name\n"
            "int64    []       7    7     7  fc.bias\n"
            "float32  [3]      1    3     2  fc.weight\n");
  EXPECT_EQ(run(files_, {"show", "--json", "net.pt"}).json().at("format"), "torch");
}

TEST_F(TorchToolTest, ConvertsToBothFormatsAndFindsNoDifference) {
  for (const std::string target : {"net.safetensors", "bundle/net"}) {
    const ToolRun result = run(files_, {"convert", "net.pt", target});
    EXPECT_EQ(result.code, kSuccess) << result.err;
    EXPECT_EQ(read_all(CheckpointReader(target, files_)), tensors_);
    EXPECT_EQ(run(files_, {"diff", "net.pt", target}).code, kSuccess);
  }
  put_checkpoint(files_, "other", {{"fc.bias", Tensor::scalar<int64_t>(8)}});
  EXPECT_EQ(run(files_, {"diff", "net.pt", "other"}).code, kNegative);
}

TEST_F(TorchToolTest, VerifiesChecksums) {
  EXPECT_EQ(run(files_, {"verify", "net.pt"}).out, "net.pt: sound\n");
  const size_t data = read_file(files_, "net.pt").find(std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  damage(files_, "net.pt", data);
  const ToolRun result = run(files_, {"verify", "net.pt"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out + result.err,
              HasSubstr("net.pt: crc32 of the zip entry \"a/data/1\" at offset"));
}

TEST_F(TorchToolTest, ConvertDoesNotWriteFilesOfTorch) {
  const ToolRun result = run(files_, {"convert", "net.pt", "copy.pt"});
  EXPECT_EQ(result.code, kTrouble);
  EXPECT_THAT(result.err, HasSubstr("copy.pt: files of torch can be read, not written"));
}

// A file of a trainer: weights, and an object that only Python can make.
class TrainerToolTest : public testing::Test {
 protected:
  TrainerToolTest() {
    const std::string args = internal::pickled("args") + "cm\nMake\n)R";
    const std::string odd = internal::pickled("it's*") + "cm\nMake\n)R";
    put_file(files_, "net.pt",
             internal::torch_archive("}(" + internal::pickled("w") + "K\x07" + args + odd + "u")
                 .bytes());
  }
  MemoryFileSystem files_;
};

TEST_F(TrainerToolTest, ShowsWhatCannotBeReadWithTheReason) {
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {"show", "net.pt"}, {"show", "--no-stats", "net.pt"}}) {
    const ToolRun result = run(files_, options);
    EXPECT_EQ(result.code, kSuccess) << result.err;
    EXPECT_THAT(result.out, HasSubstr("args (cannot be read)\n  is made by m.Make, which crochet "
                                      "does not call (byte"));
    EXPECT_THAT(result.out, HasSubstr("int64  []"));
  }
  const Json json = run(files_, {"show", "--json", "net.pt"}).json();
  EXPECT_EQ(json["tensors"][0]["type"], nullptr);
  EXPECT_THAT(json["tensors"][0]["problem"].get<std::string>(), HasSubstr("is made by m.Make"));
}

TEST_F(TrainerToolTest, VerifiesAndListsWhatIsNotRead) {
  const ToolRun result = run(files_, {"verify", "net.pt"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.out, HasSubstr("net.pt: sound\nnet.pt: not read: \"args\""));
  EXPECT_EQ(run(files_, {"verify", "--json", "net.pt"}).json()["checkpoints"][0]["unread"].size(),
            2);
}

// The error has the options that leave out what cannot be copied, quoted for a shell.
TEST_F(TrainerToolTest, ConvertAsksToLeaveOutWhatItCannotCopy) {
  const ToolRun refused = run(files_, {"convert", "net.pt", "w.safetensors"});
  EXPECT_EQ(refused.code, kTrouble);
  EXPECT_THAT(refused.err,
              HasSubstr("to leave that out, add --ignore args --ignore 'it'\\''s\\*'"));
  EXPECT_FALSE(files_.exists("w.safetensors"));
  const ToolRun result = run(
      files_, {"convert", "--ignore", "args", "--ignore", "it's\\*", "net.pt", "w.safetensors"});
  EXPECT_EQ(result.code, kSuccess) << result.err;
  EXPECT_EQ(read_all(CheckpointReader("w.safetensors", files_)),
            (TensorMap{{"w", Tensor::scalar<int64_t>(7)}}));
  EXPECT_EQ(run(files_, {"convert", "--only", "w", "-f", "net.pt", "w.safetensors"}).code,
            kSuccess);
}

TEST_F(TrainerToolTest, DiffDoesNotCallEqualWhatItCannotCompare) {
  const ToolRun result = run(files_, {"diff", "net.pt", "net.pt"});
  EXPECT_EQ(result.code, kTrouble);
  EXPECT_THAT(result.err, HasSubstr("net.pt: \"args\" is made by m.Make"));
  EXPECT_EQ(run(files_, {"diff", "--only", "w", "net.pt", "net.pt"}).code, kSuccess);
}

}  // namespace
}  // namespace crochet::tool
