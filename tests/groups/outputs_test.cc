// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a group write.
#include "crochet/outputs/outputs.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/store_ranks.h"
#include "crochet/tracking/sharded.h"

namespace crochet {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

class GroupOutputsTest : public testing::Test {
 protected:
  struct Program {
    OutputFile& own;     // Of each rank.
    OutputFile& chiefs;  // Of the chief.
    int rank;
    int64_t step;
  };

  // The error of each rank.
  std::vector<std::string> run(int size, const std::function<void(Program)>& body) {
    std::vector<std::string> errors(static_cast<size_t>(size));
    StoreRanks ranks(size);
    ranks.run([&](const std::shared_ptr<Group>& group) {
      const int rank = group->rank();
      OutputFile own("run/trajectory.bin", {.files = &files_});
      OutputFile chiefs("run/log.txt", {.files = &files_});
      own << "header\n";
      chiefs << "log\n";
      try {
        Loop loop({.checkpoint = {.dir = "run", .every_steps = 3},
                   .summaries = {.every_steps = 0, .count_every_steps = 0},
                   .ranks = {.group = group, .timeout_secs = 1e6},
                   .hooks = {StopAtStepHook({.last_step = 8})},
                   .files = &files_,
                   .clock = &clock_});
        loop.track("own", per_rank(own));
        loop.track("log", chiefs);
        loop.run([&](Step& step) { body({own, chiefs, rank, step.number()}); });
      } catch (const Error& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = error.what();
      }
    });
    return errors;
  }
  void expect_all(int size) {
    std::string log = "log\n";
    for (int step = 1; step <= 8; ++step) log += fmt::format("{}\n", step);
    EXPECT_EQ(read_file(files_, "run/log.txt"), log);
    for (int rank = 0; rank < size; ++rank) {
      std::string expected = "header\n";
      for (int step = 1; step <= 8; ++step) expected += fmt::format("{} of {}\n", step, rank);
      EXPECT_EQ(read_file(files_, fmt::format("run/trajectory.rank-{}.bin", rank)), expected);
    }
  }
  static void write(Program program) {
    program.own << program.step << " of " << program.rank << '\n';
    if (program.rank == 0) program.chiefs << program.step << '\n';
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(GroupOutputsTest, EachRankHasItsOwnFile) {
  EXPECT_THAT(run(3, write), Each(IsEmpty()));
  expect_all(3);
}

TEST_F(GroupOutputsTest, NoRowIsMissingOrThereTwiceAfterAFailure) {
  for (int failing = 1; failing <= 8; ++failing) {
    files_.power_cut();
    for (const std::string& name :
         files_.exists("run") ? files_.list("run") : std::vector<std::string>())
      files_.remove(join_path("run", name));
    const auto fail = [&](Program program) {
      write(program);
      if (program.step == failing && program.rank == failing % 3) throw std::runtime_error("a bug");
    };
    EXPECT_THAT(run(3, fail), testing::Contains(HasSubstr("a bug")));
    files_.power_cut();
    EXPECT_THAT(run(3, write), Each(IsEmpty()));
    expect_all(3);
  }
}

TEST_F(GroupOutputsTest, OnlyTheChiefWritesAnOutputThatIsNotPerRank) {
  const auto errors = run(2, [](Program program) { program.chiefs << program.step << '\n'; });
  EXPECT_THAT(errors[1], HasSubstr("run/log.txt: an output of a group is rank 0's"));
  // The advice is followed by `own`.
}

TEST_F(GroupOutputsTest, AnotherNumberOfRanksIsRefused) {
  EXPECT_THAT(run(2, write), Each(IsEmpty()));
  EXPECT_THAT(run(3, write), Each(testing::Not(IsEmpty())));
}

}  // namespace
}  // namespace crochet
