// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The commands with files of torch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/testing/checkpoint_contents.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/raw_torch.h"
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

TEST_F(TorchToolTest, ReportsAFileBeforeTorch16) {
  put_file(files_, "old.pt", "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
  const ToolRun result = run(files_, {"show", "old.pt"});
  EXPECT_EQ(result.code, kTrouble);
  EXPECT_THAT(result.err, HasSubstr("old.pt: found the format of torch before 1.6"));
}

}  // namespace
}  // namespace crochet::tool
