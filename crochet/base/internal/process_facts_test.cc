// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/process_facts.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::inline v0::internal {
namespace {

using testing::Contains;
using testing::Not;

TEST(ProcessFactsTest, DescribesThisProcess) {
  const ProcessFacts facts = facts_of_this_process();
  EXPECT_EQ(facts.pid, ::getpid());
  EXPECT_EQ(facts.host, host_name());
  EXPECT_EQ(facts.boot, boot_of_machine());
  EXPECT_EQ(facts.boot.size(), 36);  // A UUID.
  EXPECT_EQ(facts.started, start_of_process(facts.pid));
  EXPECT_FALSE(facts.started.empty());
  EXPECT_EQ(facts.oom_kills.has_value(), !facts.memory_group.empty());
}

// A name with a parenthesis and spaces does not move the fields.
TEST(ProcessFactsTest, TheStartIsAFieldWhateverTheName) {
  std::string name;
  std::ifstream("/proc/self/comm") >> name;
  const std::string start = start_of_process(::getpid());
  std::ofstream("/proc/self/comm") << "a) 1 (b 2";
  EXPECT_EQ(start_of_process(::getpid()), start);
  std::ofstream("/proc/self/comm") << name;
}

TEST(ProcessFactsTest, AProcessThatEndedHasNoStart) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(start_of_process(child), "");
  EXPECT_EQ(start_of_process(-1), "");
}

class MemoryGroupTest : public testing::Test {
 protected:
  MemoryGroupTest() { std::filesystem::create_directory(directory_); }
  ~MemoryGroupTest() override { std::filesystem::remove_all(directory_); }
  void put(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
  }
  std::optional<int64_t> kills() const { return oom_kills_of(directory_); }

  const std::string directory_ = testing::TempDir() + "group-" + std::to_string(::getpid());
};

TEST_F(MemoryGroupTest, CountsWhatTheKernelKilled) {
  EXPECT_EQ(kills(), std::nullopt);
  put("memory.events", "low 0\nhigh 7\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n");
  EXPECT_EQ(kills(), 2);
}

TEST_F(MemoryGroupTest, OfTheFirstVersion) {
  put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  EXPECT_EQ(kills(), 5);
}

TEST_F(MemoryGroupTest, OtherTextHasNoCount) {
  for (const char* const text : {"", "oom_kill", "oom_kill x", "oom_kill 2x", "oom_kills 2",
                                 "oom_kill 99999999999999999999"}) {
    put("memory.events", text);
    EXPECT_EQ(kills(), std::nullopt) << text;
  }
  EXPECT_EQ(oom_kills_of(""), std::nullopt);
  EXPECT_EQ(oom_kills_of("/nowhere"), std::nullopt);
}

TEST(LibrariesTest, EachIsListedOnce) {
  EXPECT_THAT(libraries(), Not(Contains("abacus 1.0")));
  add_library("abacus", "1.0");
  add_library("abacus", "1.0");
  add_library("abacus", "2.0");
  EXPECT_THAT(libraries(), testing::IsSupersetOf({"abacus 1.0", "abacus 2.0"}));
  EXPECT_EQ(std::ranges::count(libraries(), "abacus 1.0"), 1);
}

}  // namespace
}  // namespace crochet::inline v0::internal
