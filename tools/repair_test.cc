// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Files on a disk that temporarily reads one file wrongly, or not at all.
class FlakyFiles final : public MemoryFileSystem {
 public:
  std::string unreadable = {};

  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    if (path == unreadable)
      throw UnknownError(fmt::format("{}: read failed: Input/output error (EIO)", path));
    return MemoryFileSystem::open(path);
  }
};

class RepairTest : public testing::Test {
 protected:
  RepairTest() {
    for (const int64_t step : {10, 20, 30})
      put_checkpoint(files_, prefix(step), {{"w", Tensor::from<float>({1, 2})}}, {.step = step});
  }

  static std::string prefix(int64_t step) { return fmt::format("run/m-{}", step); }
  void write_state(const std::vector<int64_t>& steps) {
    std::vector<std::string> prefixes;
    for (const int64_t step : steps) prefixes.push_back(prefix(step));
    update_checkpoint_state(files_, "run", prefixes.back(), prefixes,
                            {.save_relative_paths = true});
  }
  std::vector<std::string> listed() {
    const auto state = get_checkpoint_state(files_, "run");
    return state ? state->all_model_checkpoint_paths : std::vector<std::string>();
  }
  void damage_data(int64_t step) { damage(files_, prefix(step) + ".data-00000-of-00001", 0); }
  ToolRun repair(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"repair", "run"});
    return run(files_, arguments);
  }

  // Every file of the run, and its contents.
  std::map<std::string, std::string> contents() {
    files_.unreadable.clear();
    std::map<std::string, std::string> contents;
    for (const std::string& name : files_.list("run"))
      contents[name] = read_file(files_, "run/" + name);
    return contents;
  }

  FlakyFiles files_;
};

TEST_F(RepairTest, ATemporaryReadErrorIsNotDamage) {
  write_state({10, 20, 30});
  ASSERT_EQ(repair({"--set-aside"}).code, kSuccess);
  const auto before = contents();
  for (const char* const suffix : {".index", ".data-00000-of-00001"})
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"repair", "run"},
                                                      {"repair", "--set-aside", "--clean", "run"},
                                                      {"verify", "run"},
                                                      {"list", "--verify", "run"}}) {
      files_.unreadable = prefix(30) + suffix;
      const ToolRun result = run(files_, arguments);
      EXPECT_EQ(result.code, kTrouble) << result.out;
      EXPECT_THAT(result.err, HasSubstr("(EIO)"));
      EXPECT_EQ(contents(), before) << suffix;
    }
}

TEST_F(RepairTest, RebuildsTheStateFileFromTheSoundCheckpoints) {
  damage_data(20);
  const ToolRun result = repair();
  EXPECT_EQ(result.code, kSuccess) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("run/m-10: sound\n"), HasSubstr("run/m-20: damaged: "),
                                HasSubstr("run/checkpoint: now names m-30 and 1 older\n")));
  EXPECT_THAT(listed(), ElementsAre("run/m-10", "run/m-30"));
  EXPECT_EQ(latest_checkpoint(files_, "run"), "run/m-30");
}

TEST_F(RepairTest, TheNewestSoundOneReplacesADamagedOne) {
  write_state({10, 20, 30});
  damage_data(30);
  const ToolRun result = repair({"--json"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_EQ(latest_checkpoint(files_, "run"), "run/m-20");
  EXPECT_THAT(listed(), ElementsAre("run/m-10", "run/m-20"));
  const Json json = result.json();
  EXPECT_EQ(json["state"]["written"], true);
  EXPECT_EQ(json["state"]["newest"], "m-20");
  EXPECT_EQ(json["state"]["all"], Json::array({"m-10", "m-20"}));
  EXPECT_EQ(json["checkpoints"][2]["sound"], false);
  EXPECT_EQ(json["checkpoints"][2]["set_aside"], false);
}

// An older one that the state file does not list is kept forever: if it were listed, a later run
// would remove it.
TEST_F(RepairTest, PreservedCheckpointsStayUnlisted) {
  write_state({20});
  const ToolRun result = repair();
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(listed(), ElementsAre("run/m-20", "run/m-30"));
}

TEST_F(RepairTest, ACorrectStateFileIsNotChanged) {
  write_state({10, 20, 30});
  const std::string before = read_file(files_, "run/checkpoint");
  EXPECT_EQ(repair({"--dry-run"}).code, kSuccess);
  const ToolRun result = repair();
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.out, HasSubstr("run/checkpoint: is right, and names m-30 and 2 older"));
  EXPECT_EQ(read_file(files_, "run/checkpoint"), before);
}

TEST_F(RepairTest, ADamagedStateFileIsReplaced) {
  put_file(files_, "run/checkpoint", "model_checkpoint_path: \"m-");
  const ToolRun result = repair();
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.err, HasSubstr("run/checkpoint"));
  EXPECT_THAT(listed(), ElementsAre("run/m-10", "run/m-20", "run/m-30"));
}

TEST_F(RepairTest, ADryRunChangesNothingAndReportsTheWork) {
  put_file(files_, "run/m-40.index.tempstate12", "x");
  const ToolRun result = repair({"--dry-run", "--clean", "--set-aside"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, AllOf(HasSubstr("run/checkpoint: would name m-30 and 2 older\n"),
                                HasSubstr("run/m-40.index.tempstate12: left over\n")));
  EXPECT_FALSE(files_.exists("run/checkpoint"));
  EXPECT_FALSE(files_.exists("run/.lock"));
  EXPECT_TRUE(files_.exists("run/m-40.index.tempstate12"));
}

// Whichever options would do it.
TEST_F(RepairTest, ADryRunReportsAnyWork) {
  write_state({10, 20, 30});
  EXPECT_EQ(repair({"--dry-run"}).code, kSuccess);
  put_file(files_, "run/m-40.index.tempstate12", "x");
  EXPECT_EQ(repair({"--dry-run"}).code, kNegative);
  EXPECT_EQ(repair().code, kSuccess);
  EXPECT_EQ(repair({"--dry-run"}).code, kNegative);
  EXPECT_EQ(repair({"--clean"}).code, kSuccess);
  EXPECT_EQ(repair({"--dry-run"}).code, kSuccess);
  damage_data(10);
  EXPECT_EQ(repair().code, kSuccess);
  EXPECT_EQ(repair({"--dry-run"}).code, kNegative);
  EXPECT_EQ(repair({"--set-aside"}).code, kSuccess);
  EXPECT_EQ(repair({"--dry-run"}).code, kSuccess);
}

TEST_F(RepairTest, LeftoversAreListedAndRemovedIfAsked) {
  const std::vector<std::string> left = {"run/m-40.data-00000-of-00001",
                                         "run/m-50.index.tempstate1"};
  for (const std::string& path : left) put_file(files_, path, "x");
  put_file(files_, "run/notes.txt", "not ours");
  EXPECT_THAT(repair().out, HasSubstr("run/m-50.index.tempstate1: left over\n"));
  EXPECT_TRUE(files_.exists(left[1]));
  const ToolRun result = repair({"--clean"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.out, HasSubstr("run/m-40.data-00000-of-00001: left over; removed\n"));
  for (const std::string& path : left) EXPECT_FALSE(files_.exists(path));
  EXPECT_TRUE(files_.exists("run/notes.txt"));
  EXPECT_THAT(list_checkpoints(files_, "run", "m"),
              ElementsAre(prefix(10), prefix(20), prefix(30)));
}

TEST_F(RepairTest, DamagedOnesAreSetAsideIfAsked) {
  damage_data(30);
  EXPECT_EQ(repair().code, kSuccess);
  EXPECT_TRUE(files_.exists("run/m-30.index"));
  const ToolRun result = repair({"--set-aside"});
  EXPECT_EQ(result.code, kSuccess);
  EXPECT_THAT(result.out, HasSubstr("run/m-30: set aside: its files now end in .damaged\n"));
  EXPECT_FALSE(files_.exists("run/m-30.index"));
  EXPECT_TRUE(files_.exists("run/m-30.data-00000-of-00001.damaged"));
}

TEST_F(RepairTest, WithoutASoundOneNothingIsChanged) {
  write_state({10, 20, 30});
  const std::string before = read_file(files_, "run/checkpoint");
  for (const int64_t step : {10, 20, 30}) damage_data(step);
  const ToolRun result = repair({"--set-aside"});
  EXPECT_EQ(result.code, kNegative);
  EXPECT_THAT(result.out, HasSubstr("run/checkpoint: not changed: no checkpoint is sound\n"));
  EXPECT_EQ(read_file(files_, "run/checkpoint"), before);
  EXPECT_TRUE(files_.exists("run/m-30.index"));
}

TEST_F(RepairTest, RefusesADirectoryThatARunHolds) {
  const std::unique_ptr<FileLock> lock = files_.try_lock("run/.lock");
  lock->write("pid 7 on host elsewhere\n");
  const ToolRun result = repair();
  EXPECT_EQ(result.code, kTrouble);
  EXPECT_THAT(result.err, HasSubstr("another run holds its lock: pid 7 on host elsewhere"));
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_FALSE(files_.exists("run/checkpoint"));
  EXPECT_EQ(repair({"--dry-run"}).code, kNegative);
}

TEST_F(RepairTest, ChoosesTheBasenameByStateFileOrOption) {
  put_checkpoint(files_, "run/best-99", {{"w", Tensor::scalar<float>(1)}});
  const ToolRun unclear = repair();
  EXPECT_EQ(unclear.code, kTrouble);
  EXPECT_THAT(unclear.err, AllOf(HasSubstr("--basename"), HasSubstr("best, m")));
  EXPECT_EQ(repair({"--basename", "m"}).code, kSuccess);
  EXPECT_EQ(latest_checkpoint(files_, "run"), "run/m-30");
  EXPECT_THAT(repair().out, Not(HasSubstr("best")));
  EXPECT_EQ(repair({"--basename", "nobody"}).code, kNegative);
}

TEST_F(RepairTest, ADirectoryWithoutCheckpointsIsTrouble) {
  files_.create_directories("empty");
  for (const char* const path : {"empty", "nowhere", "run/m-30.index"}) {
    const ToolRun result = run(files_, {"repair", path});
    EXPECT_EQ(result.code, kTrouble) << path;
    EXPECT_THAT(result.err, HasSubstr(path));
  }
  EXPECT_FALSE(files_.exists("nowhere"));
}

// The state of a CheckpointManager has times and other fields, which are kept.
TEST_F(RepairTest, KeepsTheTimesOfAState) {
  update_checkpoint_state(files_, "run", prefix(20), {prefix(20)},
                          {.all_model_checkpoint_timestamps = {5},
                           .last_preserved_timestamp = 7,
                           .save_relative_paths = true});
  EXPECT_EQ(repair().code, kSuccess);
  const auto state = get_checkpoint_state(files_, "run");
  EXPECT_EQ(state->last_preserved_timestamp, 7);
  EXPECT_EQ(state->all_model_checkpoint_timestamps.size(), 2u);
}

}  // namespace
}  // namespace crochet::tool
