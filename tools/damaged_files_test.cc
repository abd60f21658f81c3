// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Files are not trusted: whatever they contain, every command ends with one of its exit codes, and
// never reports a damaged checkpoint as "sound".
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

class DamagedFilesTest : public testing::TestWithParam<CheckpointFormat> {
 protected:
  DamagedFilesTest() {
    put_checkpoint(files_, "run/m-1", model(), {.step = 1, .unix_time = 1, .metrics = {{"l", 1}}},
                   GetParam());
    put_checkpoint(files_, "good/m-1", model());
    update_checkpoint_state(files_, "run", "run/m-1");
  }

  static TensorMap model() {
    return {{"b", Tensor::from<int32_t>({1, 2})},
            {"s", Tensor::from({"ab", "c"})},
            {"w", Tensor::from<float>({1, 2})}};
  }

  // Runs all commands. True if any reports a problem.
  bool is_noticed() {
    bool noticed = false;
    const auto expect_end = [&](const std::vector<std::string>& arguments) {
      const ToolRun result = run(files_, arguments);
      EXPECT_TRUE(result.code == kSuccess || result.code == kNegative || result.code == kTrouble);
      EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
      noticed = noticed || result.code != kSuccess || !result.err.empty();
      return result.code;
    };
    expect_end({"list", "run"});
    expect_end({"show", "--values", "9", "run/m-1"});
    const int verified = expect_end({"verify", "run/m-1"});
    const int compared = expect_end({"diff", "run/m-1", "good"});
    if (verified == kSuccess) {
      EXPECT_EQ(compared, kSuccess) << "sound, but another checkpoint";
    }
    expect_end({"convert", "--dry-run", "run/m-1", "out/m"});
    expect_end({"repair", "--dry-run", "run"});
    return noticed;
  }

  MemoryFileSystem files_;
  AttackCount damaged_{"damaged_files"};
};

TEST_P(DamagedFilesTest, SurviveEveryFlippedByteAndEveryCut) {
  ASSERT_FALSE(is_noticed());
  int num_unnoticed = 0, num_files = 0;
  for (const std::string& name : files_.list("run")) {
    const std::string path = "run/" + name;
    const std::string good = read_file(files_, path);
    ++num_files;
    damaged_.add(static_cast<int64_t>(2 * good.size()));
    for (size_t i = 0; i < good.size(); ++i) {
      SCOPED_TRACE(fmt::format("{}, byte {}", path, i));
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      put_file(files_, path, bad);
      num_unnoticed += is_noticed() ? 0 : 1;
      put_file(files_, path, good.substr(0, i));
      const bool noticed = is_noticed();
      // A sidecar without its last newline, and a state file without its last line, are still
      // valid.
      EXPECT_TRUE(noticed || name.ends_with(".json") || name == "checkpoint");
    }
    put_file(files_, path, good);
  }
  EXPECT_EQ(num_files, GetParam() == CheckpointFormat::kTensorBundle ? 4 : 3);
  // Undetected: the padding of the index's footer; the sidecar's own fields and metrics.
  const uint64_t sidecar_bytes = files_.file_size("run/m-1.json");
  EXPECT_LT(static_cast<uint64_t>(num_unnoticed), 36 + sidecar_bytes);
}

TEST_P(DamagedFilesTest, ConvertWritesNothingOfADamagedCheckpoint) {
  for (const std::string& base : files_.list("run")) {
    if (base == "checkpoint" || base.ends_with(".json")) continue;
    const std::string name = "run/" + base;
    const std::string good = read_file(files_, name);
    damaged_.add(static_cast<int64_t>(good.size()));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      put_file(files_, name, bad);
      const ToolRun result = run(files_, {"convert", "--force", "run/m-1", "out/m"});
      const bool is_there = files_.exists("out/m.index");
      EXPECT_EQ(is_there, result.code == kSuccess);
      if (!is_there) continue;
      EXPECT_EQ(run(files_, {"diff", "out/m", "good"}).code, kSuccess) << name << " byte " << i;
      files_.remove("out/m.index");
    }
    put_file(files_, name, good);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedFilesTest,
                         testing::Values(CheckpointFormat::kTensorBundle,
                                         CheckpointFormat::kSafetensors),
                         [](const auto& format) {
                           return std::string(checkpoint_format_name(format.param));
                         });

}  // namespace
}  // namespace crochet::tool
