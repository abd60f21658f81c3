// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/metric_source.h"

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

constexpr const char* kDirectory = "eval";

class MetricInDirectoryTest : public testing::Test {
 protected:
  // In a new events file, and in metrics.jsonl.
  void write(double value, int64_t step) {
    clock_.advance(std::chrono::seconds(1));
    SummaryWriter writer(kDirectory, disk_, clock_);
    writer.add_scalar("loss", value, step);
    writer.flush();
  }
  std::optional<double> newest() const {
    const std::optional<MetricPoint> point = source_.newest();
    return point ? std::optional(point->value) : std::nullopt;
  }
  // The number of files that `call` reads.
  int64_t num_opened(const std::function<void()>& call) const {
    const auto count = [&] {
      int64_t count = 0;
      for (const std::string& each : files_.reads()) count += each.starts_with("open ") ? 1 : 0;
      return count;
    };
    const int64_t before = count();
    call();
    return count() - before;
  }
  std::string only_event_file() {
    const std::vector<std::string> paths = event_files(disk_, kDirectory);
    EXPECT_EQ(paths.size(), 1);
    return paths.at(0);
  }

  FakeClock clock_;
  MemoryFileSystem disk_{clock_};
  FailingFileSystem files_{disk_};
  const MetricSource source_ = metric_in_directory(kDirectory, "loss", &files_, &clock_);
};

TEST_F(MetricInDirectoryTest, ReadsFilesAgainOnlyWhenTheyHaveChanged) {
  write(0.5, 10);
  EXPECT_GT(num_opened([&] { EXPECT_EQ(newest(), 0.5); }), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(num_opened([&] { EXPECT_EQ(newest(), 0.5); }), 0);
  EXPECT_EQ(num_opened([&] { source_.resume_at(20); }), 0);
  write(0.25, 20);
  EXPECT_GT(num_opened([&] { newest(); }), 0);
  EXPECT_EQ(num_opened([&] { newest(); }), 0);
}

TEST_F(MetricInDirectoryTest, ReadsNothingAgainWhileThereIsNothing) {
  EXPECT_EQ(newest(), std::nullopt);
  EXPECT_EQ(num_opened([&] { EXPECT_EQ(newest(), std::nullopt); }), 0);
  write(0.5, 10);
  EXPECT_EQ(newest(), 0.5);
}

TEST_F(MetricInDirectoryTest, FollowsAFileThatGrows) {
  clock_.advance(std::chrono::seconds(1));
  SummaryWriter writer(kDirectory, disk_, clock_);
  for (int64_t step = 1; step < 4; ++step) {
    writer.add_scalar("loss", static_cast<double>(step), step);
    writer.flush();
    EXPECT_EQ(newest(), static_cast<double>(step));
  }
}

TEST_F(MetricInDirectoryTest, FollowsFilesThatAppearAndGo) {
  write(0.5, 10);
  EXPECT_EQ(newest(), 0.5);
  const std::string first = only_event_file();
  write(0.25, 20);
  EXPECT_EQ(newest(), 0.25);
  disk_.remove(event_files(disk_, kDirectory).at(1));
  EXPECT_EQ(newest(), 0.5);
  disk_.remove(first);
  EXPECT_EQ(newest(), std::nullopt);
}

TEST_F(MetricInDirectoryTest, NoticesFilesOfTheSameSizesInPlaceOfOthers) {
  write(0.25, 10);
  EXPECT_EQ(newest(), 0.25);
  const std::string events = only_event_file(), lines = join_path(kDirectory, "metrics.jsonl");
  const uint64_t size_of_events = disk_.file_size(events), size_of_lines = disk_.file_size(lines);
  disk_.remove(events);
  disk_.remove(lines);
  write(0.75, 10);
  if (const std::string other = only_event_file(); other != events) disk_.rename(other, events);
  ASSERT_EQ(disk_.file_size(events), size_of_events);
  ASSERT_EQ(disk_.file_size(lines), size_of_lines);
  EXPECT_EQ(newest(), 0.75);
}

TEST_F(MetricInDirectoryTest, NoticesATruncatedFile) {
  write(0.5, 10);
  EXPECT_EQ(newest(), 0.5);
  const std::string path = only_event_file();
  disk_.truncate(path, disk_.file_size(path) - 1);
  EXPECT_EQ(newest(), std::nullopt);
}

// The line says that the checkpoint is one that the run has abandoned.
TEST_F(MetricInDirectoryTest, NoticesANewLineOfAnEvaluator) {
  clock_.advance(std::chrono::seconds(100));
  source_.resume_at(0);
  write(0.5, 10);
  EXPECT_EQ(newest(), 0.5);
  disk_.append_to(join_path(kDirectory, "metrics.jsonl"))
      ->append("{\"step\": 10, \"checkpoint/time\": 1}\n");
  EXPECT_EQ(newest(), std::nullopt);
}

// Each reading call fails once.
TEST_F(MetricInDirectoryTest, ReadsAgainAfterAnError) {
  write(0.5, 10);
  int64_t num_calls = 0;
  for (bool has_failed = true; has_failed; ++num_calls) {
    const MetricSource source = metric_in_directory(kDirectory, "loss", &files_, &clock_);
    const int64_t before = files_.num_failures();
    files_.fail_read_with_errno(files_.num_reads() + num_calls, EIO);
    try {
      source.newest();
    } catch (const Error&) {
    }
    has_failed = files_.num_failures() > before;
    files_.stop_failing();
    const std::optional<MetricPoint> point = source.newest();
    ASSERT_TRUE(point) << "after call " << num_calls;
    EXPECT_EQ(point->value, 0.5);
  }
  EXPECT_GT(num_calls, 10);
}

}  // namespace
}  // namespace crochet
