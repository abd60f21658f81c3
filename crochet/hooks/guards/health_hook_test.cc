// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/health_hook.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/guards/internal/machine_health.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/testing/watched_file_system.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

class HealthHookTest : public testing::Test {
 protected:
  HealthHookTest() {
    put("proc/self/statm", "900000 1000 10 1 0 1 0\n");
    put("proc/self/cgroup", "0::/job\n");
    put("sys/fs/cgroup/job/memory.max", "8000000000\n");
    put("sys/devices/system/edac/mc/mc0/ce_count", "5\n");
    put("sys/devices/system/edac/mc/mc0/ue_count", "0\n");
    put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "100\n");
    set_used(1e9);
    files_.create_directories("run");
  }

  void put(const std::string& path, const std::string& text) {
    const std::string whole = root_.path() + "/" + path;
    std::filesystem::create_directories(std::filesystem::path(whole).parent_path());
    replace_file(FileSystem::posix(), whole, text);
  }
  void set_used(double bytes) {
    put("sys/fs/cgroup/job/memory.current", fmt::format("{:.0f}\n", bytes));
  }

  // Makes steps of 30 s; `before(i)` changes the machine.
  std::vector<std::string> warnings(int steps, const std::function<void(int)>& before) {
    ScriptedGraph graph;
    MonitoredSession session(
        std::make_unique<ChiefSessionCreator>(graph),
        {HealthHook({.dir = "run", .root = root_.path(), .files = &files_, .clock = &clock_})},
        {.clock = &clock_});
    for (int i = 0; i < steps; ++i) {
      before(i);
      session.run(graph.train());
      clock_.advance(std::chrono::seconds(30));
    }
    session.close();
    return log_.lines(Severity::kWarning);
  }

  TempDirectory root_;
  FakeClock clock_;
  WatchedFileSystem files_;
  LogCapture log_;
};

TEST_F(HealthHookTest, AHealthyMachineIsQuiet) {
  EXPECT_THAT(warnings(500, [](int) {}), IsEmpty());
}

TEST_F(HealthHookTest, MemoryThatGrowsIsForecast) {
  // 7 GB are left; 20 MB in 30 s: it is full after 2.9 h.
  const auto lines = warnings(12, [&](int i) { set_used(1e9 + 2e7 * i); });
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("memory is full in 2.8 h at this rate: 1.18 GB of 8.00 GB "
                                    "are used, 0.00 GB of it by this process")));
}

// Once, and again when half of the time is left.
TEST_F(HealthHookTest, AWarningIsRepeatedWhenHalfOfTheTimeIsLeft) {
  const auto lines = warnings(300, [&](int i) { set_used(1e9 + 2e7 * i); });
  EXPECT_THAT(lines, SizeIs(testing::AllOf(testing::Ge(2), testing::Le(5))));
}

TEST_F(HealthHookTest, MemoryThatGrowsSlowlyIsNot) {
  EXPECT_THAT(warnings(500, [&](int i) { set_used(1e9 + 1e6 * i); }), IsEmpty());
}

// Without a limit of its own, the process has that of the machine.
TEST_F(HealthHookTest, WithoutALimitOfTheGroupTheMachinesCounts) {
  put("sys/fs/cgroup/job/memory.max", "max\n");
  const auto lines = warnings(12, [&](int i) {
    put("proc/meminfo", fmt::format("MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:   "
                                    "{} kB\n",
                                    8'000'000 - 40'000 * i));
  });
  EXPECT_THAT(lines, ElementsAre(HasSubstr("of 16.38 GB are used")));
}

TEST_F(HealthHookTest, ADiskThatFillsUpIsForecast) {
  uint64_t free = 10'000'000'000;
  files_.say_free([&] { return free; });
  const auto lines = warnings(20, [&](int) { free -= 100'000'000; });
  EXPECT_THAT(lines, ElementsAre(HasSubstr("run: the disk is full in 45 min at this rate: 9.00 GB "
                                           "are free")));
}

TEST_F(HealthHookTest, ErrorsAreCountedFromTheStartOfTheRun) {
  const auto lines = warnings(100, [&](int i) {
    put("sys/devices/system/edac/mc/mc0/ce_count", fmt::format("{}\n", 5 + i / 10));
    if (i == 50) put("sys/devices/system/edac/mc/mc0/ue_count", "1\n");
    if (i == 60) put("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "107\n");
  });
  EXPECT_THAT(lines, SizeIs(6)) << "corrected: at 1, 2, 4 and 8";
  EXPECT_THAT(lines[0], HasSubstr("had 1 corrected errors"));
  EXPECT_THAT(lines[3], HasSubstr("1 errors that were not corrected"));
  EXPECT_THAT(lines[4], HasSubstr("slowed 7 times"));
}

TEST_F(HealthHookTest, AClockThatJumpsIsSaidOnce) {
  const auto lines = warnings(10, [&](int i) {
    if (i == 5) clock_.set_wall_time(clock_.wall_time() - 3600);
  });
  EXPECT_THAT(lines, ElementsAre(HasSubstr("the machine's clock has jumped by -3600 s")));
}

// As on a machine whose kernel says nothing, or something else.
TEST_F(HealthHookTest, WhatTheKernelDoesNotSayIsNotWatched) {
  const TempDirectory empty;
  const internal::MachineHealth health = internal::read_machine_health(empty.path());
  EXPECT_FALSE(health.memory_bytes || health.used_bytes || health.limit_bytes ||
               health.corrected_errors || health.uncorrected_errors || health.throttled);
  put("proc/self/statm", "x");
  put("proc/self/cgroup", "0::/../../etc\n");
  put("proc/meminfo", "MemTotal: 99999999999999999999999 kB\nMemAvailable:");
  put("sys/devices/system/edac/mc/mc0/ce_count", "-1");
  const internal::MachineHealth strange = internal::read_machine_health(root_.path());
  EXPECT_FALSE(strange.memory_bytes || strange.used_bytes || strange.corrected_errors);
}

TEST_F(HealthHookTest, ThisMachineCanBeRead) {
  EXPECT_GT(internal::read_machine_health().memory_bytes.value_or(0), 0);
}

TEST_F(HealthHookTest, RefusesOptionsThatMeanNothing) {
  EXPECT_THAT([] { HealthHook({.horizon_secs = 0}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("horizon_secs is 0")));
  EXPECT_THAT([] { HealthHook({.every_secs = -1}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("every_secs is -1")));
}

}  // namespace
}  // namespace crochet
