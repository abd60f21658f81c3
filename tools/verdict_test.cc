// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Damaged, incomplete, refused and unsupported are four things.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/encoded_table.h"
#include "tests/support/raw_torch.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::HasSubstr;

class VerdictTest : public testing::Test {
 protected:
  // The output of `crochet verify`, and its exit code.
  void expect_verdict(const std::string& path, const std::string& verdict, int code) {
    const ToolRun result = run(files_, {"verify", path});
    EXPECT_EQ(result.code, code) << path << ": " << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr(fmt::format(": {}: ", verdict))) << path;
    const Json json = run(files_, {"verify", "--json", path}).json();
    EXPECT_EQ(json["sound"], false);
    EXPECT_EQ(json["checkpoints"][0]["problems"][0]["verdict"], verdict);
  }

  MemoryFileSystem files_;
};

// None of these is damaged: another program reads them.
TEST_F(VerdictTest, IntactFilesThatAreNotReadAreUnsupported) {
  put_file(files_, "lfs.safetensors", "version https://git-lfs.github.com/spec/v1\nsize 7\n");
  internal::RawZip big = internal::torch_archive("}");
  big.entries.pop_back();
  big.add("a/byteorder", "big");
  put_file(files_, "big.pt", big.bytes());
  internal::RawZip other;
  other.add("a/code", "x");
  put_file(files_, "other.pt", other.bytes());
  put_file(
      files_, "new-1.index",
      internal::encode_table({{"", internal::encode(internal::BundleHeader{.min_consumer = 9})}}));
  for (const std::string path : {"lfs.safetensors", "big.pt", "other.pt", "new-1"})
    expect_verdict(path, "unsupported", kTrouble);
}

TEST_F(VerdictTest, WrongBytesAreDamage) {
  put_checkpoint(files_, "m-1", {{"w", Tensor::from<float>({1, 2})}});
  damage(files_, "m-1.data-00000-of-00001", 0);
  expect_verdict("m-1", "damaged", kNegative);
  // A truncated file of torch is not another kind of zip archive or pickle.
  const std::string archive = internal::torch_file({{"w", Tensor::from<float>({1, 2})}});
  const std::string legacy = internal::legacy_torch_file("\x80\x02}.", {});
  put_file(files_, "archive.pt", archive.substr(0, archive.size() - 1));
  put_file(files_, "legacy.pt", legacy.substr(0, legacy.size() - 1));
  for (const std::string path : {"archive.pt", "legacy.pt"})
    expect_verdict(path, "damaged", kNegative);
}

TEST_F(VerdictTest, AMissingFileIsNotDamage) {
  put_checkpoint(files_, "m-1", {{"w", Tensor::from<float>({1, 2})}});
  files_.remove("m-1.data-00000-of-00001");
  expect_verdict("m-1", "incomplete", kNegative);
  EXPECT_EQ(
      run(files_, {"verify", "m-1"}).out,
      "m-1: incomplete: m-1.data-00000-of-00001: there is no such file, m-1.index needs it\n");
  put_file(files_, "x.safetensors.index.json", "{\"weight_map\":{\"a\":\"gone\",\"b\":\"gone\"}}");
  expect_verdict("x.safetensors.index.json", "incomplete", kNegative);
  EXPECT_THAT(run(files_, {"verify", "x.safetensors.index.json"}).out,
              HasSubstr("\"a\" is in gone, which is missing"));
  const ToolRun shown = run(files_, {"show", "x.safetensors.index.json"});
  EXPECT_EQ(shown.code, kNegative);
  EXPECT_THAT(shown.out, HasSubstr("-  a (missing)\n"));
}

// One that is not sound outweighs one that cannot be judged.
TEST_F(VerdictTest, EachCheckpointOfADirectoryHasItsVerdict) {
  for (const std::string name : {"run/m-1", "run/m-2", "run/m-3"})
    put_checkpoint(files_, name, {{"w", Tensor::from<float>({1, 2})}});
  put_file(
      files_, "run/m-2.index",
      internal::encode_table({{"", internal::encode(internal::BundleHeader{.min_consumer = 9})}}));
  EXPECT_EQ(run(files_, {"verify", "run"}).code, kTrouble);
  const ToolRun list = run(files_, {"list", "run"});
  EXPECT_EQ(list.code, kTrouble);
  EXPECT_THAT(list.out, HasSubstr("unsupported"));
  damage(files_, "run/m-3.data-00000-of-00001", 0);
  const ToolRun result = run(files_, {"verify", "run"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, HasSubstr("run/m-1: sound\nrun/m-2: unsupported: "));
  EXPECT_THAT(result.out, HasSubstr("run/m-3: damaged: "));
}

// A directory with a checkpoint that cannot be judged stays as it is.
TEST_F(VerdictTest, RepairChangesNothingThatItCannotJudge) {
  put_checkpoint(files_, "run/m-1", {{"w", Tensor::from<float>({1, 2})}});
  put_file(
      files_, "run/m-2.index",
      internal::encode_table({{"", internal::encode(internal::BundleHeader{.min_consumer = 9})}}));
  const ToolRun result = run(files_, {"repair", "--set-aside", "run"});
  EXPECT_EQ(result.code, kTrouble);
  EXPECT_THAT(result.err, HasSubstr("run/m-2: unsupported: "));
  EXPECT_TRUE(files_.exists("run/m-2.index"));
  EXPECT_FALSE(files_.exists("run/checkpoint"));
}

}  // namespace
}  // namespace crochet::tool
