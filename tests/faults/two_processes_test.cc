// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>

#include "child_process.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using ::testing::HasSubstr;

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

class TwoProcessesTest : public testing::Test {
 protected:
  std::vector<std::string> command(const std::string& last_step, const std::string& mode = "") {
    return {CROCHET_FAULT_HELPER, directory_ / "run", last_step, mode};
  }

  TempDirectory directory_;
};

TEST_F(TwoProcessesTest, RefusesTheSecondAndNamesTheFirst) {
  ChildProcess first(command("2", "wait"));
  ASSERT_EQ(first.read_line(), "running");
  ChildProcess second(command("3"));
  EXPECT_EQ(second.wait(), 1);
  EXPECT_THAT(second.output(),
              HasSubstr(fmt::format("error: {}: another run holds its lock: pid {} on host {}",
                                    directory_ / "run", first.pid(), host_name())));
  // The first one is not affected.
  first.write("x");
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(first.output(), "saved 2\n");
  ChildProcess third(command("3"));
  EXPECT_EQ(third.wait(), 0);
  EXPECT_EQ(third.output(), "saved 3\n");
}

TEST_F(TwoProcessesTest, ADeadProcessHoldsNoLock) {
  {
    ChildProcess good(command("2"));
    ASSERT_EQ(good.wait(), 0);
  }
  ChildProcess first(command("5", "wait"));
  ASSERT_EQ(first.read_line(), "running");
  const pid_t dead = first.pid();
  first.kill();
  EXPECT_THAT(read_file(FileSystem::posix(), directory_ / "run/.lock"),
              HasSubstr(fmt::format("pid {} ", dead)));
  ChildProcess second(command("3"));
  EXPECT_EQ(second.wait(), 0) << second.output();
  EXPECT_EQ(second.output(), "saved 3\n");
}

TEST_F(TwoProcessesTest, EachProcessGetsTheLockAfterTheLastIsKilled) {
  for (int i = 0; i < 5; ++i) {
    ChildProcess holder(command("9", "wait"));
    ASSERT_EQ(holder.read_line(), "running") << i;
    holder.kill();
  }
}

}  // namespace
}  // namespace crochet
