// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/lives.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/memory_file_system.h"

namespace crochet::tool {
namespace {

std::vector<Life> lives_of_text(const std::string& text) {
  MemoryFileSystem files;
  files.create_directories("run");
  files.create("run/events.jsonl")->append(text);
  return lives_of(internal::read_journal(files, "run"));
}

std::string line(int life, const std::string& event, int step, double time,
                 const std::string& more = "") {
  return R"({"event":")" + event + R"(","life":)" + std::to_string(life) + R"(,"step":)" +
         std::to_string(step) + R"(,"time":)" + std::to_string(time) + R"(,"steady":1)" + more +
         "}\n";
}

TEST(LivesTest, ALifeHasWhatItsEventsSay) {
  const auto lives = lives_of_text(
      line(1, "start", 0, 100, R"(,"pid":7,"host":"a","command":["./train","x"],"boot":"b")") +
      line(1, "restore", 20, 101, R"(,"checkpoint":"run/m-20")") + line(1, "save", 30, 110) +
      line(1, "saved", 30, 111) + line(1, "save", 40, 120) +
      line(1, "stop", 45, 125, R"(,"who":"SignalHook","reason":"SIGTERM","signal":15)") +
      line(1, "end", 45, 126, R"(,"exit_code":143)") + line(2, "start", 0, 130) +
      line(2, "restore", 40, 131, R"(,"checkpoint":"run/m-40")"));
  ASSERT_EQ(lives.size(), 2);
  const Life& life = lives[0];
  EXPECT_EQ(life.process.pid, 7);
  EXPECT_EQ(life.process.host, "a");
  EXPECT_EQ(life.command, "./train x");
  EXPECT_EQ(life.start, 100);
  EXPECT_EQ(life.last, 126);
  EXPECT_EQ(life.first_step, 20);
  EXPECT_EQ(life.last_step, 45);
  EXPECT_EQ(life.restored_from, "run/m-20");
  EXPECT_EQ(life.saving, 40);
  EXPECT_EQ(life.snapshots.at(40), 120);
  EXPECT_EQ(life.stop_reason, "SignalHook: SIGTERM");
  EXPECT_EQ(life.signal, 15);
  EXPECT_EQ(life.exit_code, 143);
  EXPECT_TRUE(life.has_ended);
  EXPECT_EQ(lives[1].first_step, 40);
  EXPECT_FALSE(lives[1].has_ended);
}

TEST(LivesTest, ARecoveryGoesBack) {
  const auto lives = lives_of_text(line(1, "start", 0, 1) + line(1, "progress", 50, 2) +
                                   line(1, "recovery", 50, 3) +
                                   line(1, "restore", 40, 4, R"(,"checkpoint":"run/m-40")"));
  EXPECT_EQ(lives.at(0).last_step, 40);
}

// Nothing that a file claims leads outside the kernel's own files, or beyond what numbers hold.
TEST(LivesTest, HostileFieldsAreIgnored) {
  for (const char* const path : {"/tmp/x", "/sys/fs/cgroup/../../../tmp/x", ""}) {
    const auto lives = lives_of_text(
        line(1, "start", 0, 1,
             R"(,"pid":1e300,"oom_kills":-5,"memory_group":")" + std::string(path) + R"(")"));
    EXPECT_EQ(lives.at(0).process.memory_group, "");
    EXPECT_GT(lives.at(0).process.pid, 0);
    EXPECT_EQ(lives.at(0).process.oom_kills, 0);
  }
  const auto lives = lives_of_text(line(1, "stop", 0, 1, R"(,"signal":1e9)") +
                                   line(1, "end", 0, 1, R"(,"exit_code":-1)"));
  EXPECT_EQ(lives.at(0).signal, std::nullopt);
  EXPECT_EQ(lives.at(0).exit_code, std::nullopt);
}

}  // namespace
}  // namespace crochet::tool
