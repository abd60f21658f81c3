// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The commands on checkpoints that share data files.
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/checkpoint_contents.h"
#include "tools/shared_data.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Two runs of one directory: m-1 and m-2 are of the first, m-3 and m-4 of the second. All values
// but the step are the same.
class SharedFilesTest : public testing::Test {
 protected:
  SharedFilesTest() {
    std::vector<float> values(kLarge);
    std::iota(values.begin(), values.end(), 0.0F);
    graph_.variable("frozen", Tensor::from<float>(values));
    const auto session = graph_.new_session("");
    for (int process = 0; process < 2; ++process) {
      Saver saver({.files = &files_});
      saver.restore_newest(*session, "run", "m");
      for (int save = 0; save < 2; ++save) {
        session->run(graph_.train());
        saver.save(*session, "run/m", read_global_step(*session));
      }
    }
  }

  static std::string prefix(int64_t step) { return fmt::format("run/m-{}", step); }
  ToolRun run(const std::vector<std::string>& arguments) { return tool::run(files_, arguments); }
  // A write gives a name a copy of its own: the other gets the damaged one, too.
  void damage_shared_file() {
    const std::string damaged = internal::data_filename(prefix(3), 0, 1);
    const std::string other = internal::data_filename(prefix(4), 1, 2);
    damage(files_, damaged, kLarge);
    files_.remove(other);
    files_.link(damaged, other);
  }

  static constexpr size_t kLarge = 32 << 10;
  LogCapture log_;
  MemoryFileSystem files_;
  ScriptedGraph graph_;
};

TEST_F(SharedFilesTest, ListShowsHowMuchIsShared) {
  const ToolRun result = run({"list", "run"});
  EXPECT_THAT(result.out, HasSubstr("of it shared"));
  const Json checkpoints = run({"list", "--json", "run"}).json()["checkpoints"];
  for (const size_t index : {0, 2}) EXPECT_EQ(checkpoints[index]["shared_bytes"], 0);
  for (const size_t index : {1, 3})
    EXPECT_GE(checkpoints[index]["shared_bytes"], kLarge * sizeof(float));
}

TEST_F(SharedFilesTest, VerifyReportsEachCheckpointWithADamagedFile) {
  for (int64_t step = 1; step <= 4; ++step)
    EXPECT_EQ(run({"verify", prefix(step)}).code, kSuccess) << step;
  damage_shared_file();
  for (int64_t step = 1; step <= 4; ++step)
    EXPECT_EQ(run({"verify", prefix(step)}).code, step <= 2 ? kSuccess : kNegative) << step;
  EXPECT_THAT(run({"verify", prefix(4)}).err + run({"verify", prefix(4)}).out,
              HasSubstr("m-4.data-00001-of-00002"));
}

TEST_F(SharedFilesTest, VerifyReportsHowManyCheckpointsShareADamagedFile) {
  EXPECT_THAT(run({"verify", "run"}).out, Not(HasSubstr("share this file")));
  damage_shared_file();
  EXPECT_THAT(run({"verify", "run"}).out,
              HasSubstr("run/m-4.data-00001-of-00002: 2 checkpoints share this file: m-3, m-4\n"));
  const Json shared = run({"verify", "--json", "run"}).json()["shared_files"];
  ASSERT_EQ(shared.size(), 2);
  EXPECT_EQ(shared[1]["checkpoints"], Json({"run/m-3", "run/m-4"}));
}

// Which no run does.
TEST_F(SharedFilesTest, VerifyReportsAFileThatTooManyCheckpointsShare) {
  for (int64_t step = 5; step <= 7; ++step)
    for (const std::string& path : internal::paths_of_checkpoint(files_, prefix(4)))
      if (files_.exists(path)) files_.link(path, prefix(step) + path.substr(prefix(4).size()));
  const ToolRun result = run({"verify", "run"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.out, HasSubstr("5 checkpoints share this file: m-3, m-4, m-5, m-6, m-7; a run "
                                    "lets at most 4 share one\n"));
}

// A run keeps to the limit, however long it is and however often it starts.
TEST_F(SharedFilesTest, NoRunLetsMoreCheckpointsShareAFile) {
  const auto session = graph_.new_session("");
  for (int process = 0; process < 3; ++process) {
    Saver saver({.max_to_keep = 0, .files = &files_});
    saver.restore_newest(*session, "run", "m");
    for (int save = 0; save < 7; ++save) {
      session->run(graph_.train());
      saver.save(*session, "run/m", read_global_step(*session));
    }
  }
  const auto found = internal::find_checkpoints(files_, "run");
  EXPECT_EQ(found.size(), 25);
  EXPECT_FALSE(find_shared_data(files_, found).empty());
  for (const SharedData& data : find_shared_data(files_, found))
    EXPECT_TRUE(is_within_horizon(data)) << to_line(data);
}

TEST_F(SharedFilesTest, RepairSetsAllOfThemAside) {
  damage_shared_file();
  run({"repair", "--set-aside", "run"});
  EXPECT_THAT(list_checkpoints(files_, "run", "m"), ElementsAre("run/m-1", "run/m-2"));
  EXPECT_EQ(run({"verify", "run"}).code, kSuccess);
  // Files set aside keep their bytes.
  EXPECT_TRUE(files_.exists(internal::data_filename(prefix(4), 1, 2) + ".damaged"));
  EXPECT_TRUE(files_.exists(internal::data_filename(prefix(3), 0, 1) + ".damaged"));
}

TEST_F(SharedFilesTest, ConvertWritesAWholeCheckpoint) {
  const TensorMap expected = read_all(CheckpointReader(prefix(4), files_));
  EXPECT_EQ(run({"convert", prefix(4), "run/whole-4"}).code, kSuccess);
  EXPECT_EQ(run({"convert", prefix(4), "run/other-4", "--to", "safetensors"}).code, kSuccess);
  damage_shared_file();
  for (int64_t step = 1; step <= 4; ++step) remove_checkpoint(files_, prefix(step));
  for (const char* const whole : {"run/whole-4", "run/other-4"}) {
    const CheckpointReader reader(whole, files_);
    reader.verify();
    EXPECT_EQ(read_all(reader), expected) << whole;
  }
}

TEST_F(SharedFilesTest, DiffReadsThem) {
  const ToolRun result = run({"diff", prefix(3), prefix(4)});
  EXPECT_THAT(result.out, HasSubstr("global_step"));
  EXPECT_THAT(result.out, Not(HasSubstr("frozen")));
}

}  // namespace
}  // namespace crochet::tool
