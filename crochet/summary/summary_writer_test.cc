// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/summary_writer.h"

#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The events of a directory except for the file versions.
std::vector<Event> events_in(FileSystem& files, const std::string& directory) {
  std::vector<Event> events;
  for (const std::string& path : event_files(files, directory))
    for (Event& event : read_event_file(files, path))
      if (event.file_version.empty()) events.push_back(std::move(event));
  return events;
}

std::vector<int64_t> event_steps(FileSystem& files, const std::string& directory) {
  std::vector<int64_t> steps;
  for (const Event& event : events_in(files, directory)) steps.push_back(event.step);
  return steps;
}

std::vector<int64_t> json_steps(FileSystem& files, const std::string& directory) {
  std::istringstream lines(read_file(files, directory + "/metrics.jsonl"));
  std::vector<int64_t> steps;
  for (std::string line; std::getline(lines, line);)
    steps.push_back(nlohmann::json::parse(line).at("step").get<int64_t>());
  return steps;
}

// Points as "<tag> <step>".
using Points = std::multiset<std::string>;

void note(Points& points, int64_t step, const std::string& tag) {
  points.insert(fmt::format("{} {}", tag, step));
}

void take_back(Points& points, int64_t from_step) {
  std::erase_if(points, [&](const std::string& point) {
    return std::stoll(point.substr(point.find(' '))) >= from_step;
  });
}

// The points that TensorBoard shows: a start removes those with its step or a later one.
Points points_in_events(FileSystem& files, const std::string& directory) {
  Points points;
  for (const std::string& path : event_files(files, directory)) {
    EventFileReader reader(files, path);
    try {
      while (const auto event = reader.read()) {
        if (event->session_log && event->session_log->status == SessionLog::kStart)
          take_back(points, event->step);
        for (const SummaryValue& value : event->values) note(points, event->step, value.tag);
      }
    } catch (const DataLossError&) {  // TensorBoard also continues with the next file.
    }
  }
  return points;
}

// The points in metrics.jsonl, read as documented.
Points points_in_lines(FileSystem& files, const std::string& directory) {
  Points points;
  if (!files.exists(directory + "/metrics.jsonl")) return points;
  std::istringstream lines(read_file(files, directory + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object.contains("resumed_at")) {
      take_back(points, object.at("resumed_at").get<int64_t>() + 1);
      continue;
    }
    for (const auto& [key, value] : object.items())
      if (key != "step" && key != "time") note(points, object.at("step").get<int64_t>(), key);
  }
  return points;
}

class SummaryWriterTest : public testing::Test {
 protected:
  std::shared_ptr<SummaryWriter> writer(const std::string& directory = "/runs") {
    return SummaryWriter::for_directory(directory, files_, clock_);
  }

  LogCapture log_;
  FakeClock clock_{1000.5};
  MemoryFileSystem files_{clock_};
};

TEST_F(SummaryWriterTest, WritesEachAddIntoBothFiles) {
  const auto summaries = writer();
  summaries->add_scalars(
      3, std::vector<Scalar>{{.tag = "loss", .value = 0.1}, {.tag = "rate", .value = 1e300}});
  EXPECT_THAT(events_in(files_, "/runs"),
              ElementsAre(Event{.wall_time = 1000.5,
                                .step = 3,
                                .values = {{.tag = "loss", .simple_value = 0.1F},
                                           {.tag = "rate", .simple_value = INFINITY}}}));
  EXPECT_EQ(read_file(files_, "/runs/metrics.jsonl"),
            "{\"step\":3,\"time\":1000.5,\"loss\":0.1,\"rate\":1e+300}\n");
}

TEST_F(SummaryWriterTest, WritesNan) {
  writer()->add_scalar("loss", NAN, 1);
  EXPECT_TRUE(std::isnan(events_in(files_, "/runs").at(0).values.at(0).simple_value));
  EXPECT_THAT(read_file(files_, "/runs/metrics.jsonl"), HasSubstr("\"loss\":\"NaN\""));
}

TEST_F(SummaryWriterTest, LeavesNoFilesIfNothingIsAdded) {
  {
    const auto summaries = writer();
    summaries->add_scalars(1, {});
    summaries->flush();
  }
  EXPECT_FALSE(files_.exists("/runs"));
}

TEST_F(SummaryWriterTest, HooksOfOneDirectoryShareOneWriter) {
  const auto first = writer("/runs/x");
  EXPECT_EQ(writer("/runs/x"), first);
  EXPECT_EQ(writer("/runs/x/"), first);
  EXPECT_EQ(writer("/runs/./y/../x"), first);
  EXPECT_NE(writer("/runs"), first);
  MemoryFileSystem other_files;
  EXPECT_NE(SummaryWriter::for_directory("/runs/x", other_files, clock_), first);
}

TEST_F(SummaryWriterTest, CreatesANewWriterOnceTheFirstIsReleased) {
  writer()->add_scalar("loss", 1, 1);
  writer()->add_scalar("loss", 2, 2);
  EXPECT_THAT(event_files(files_, "/runs"), SizeIs(2));
  EXPECT_THAT(event_steps(files_, "/runs"), ElementsAre(1, 2));
  EXPECT_THAT(json_steps(files_, "/runs"), ElementsAre(1, 2));
}

TEST_F(SummaryWriterTest, AFreshStartIsWrittenAtStepZero) {
  writer()->add_session_log(SessionLog::kStart, 0);
  EXPECT_THAT(events_in(files_, "/runs"),
              ElementsAre(Event{.wall_time = 1000.5,
                                .session_log = SessionLogEntry{.status = SessionLog::kStart}}));
  EXPECT_FALSE(files_.exists("/runs/metrics.jsonl"));
}

// TensorBoard also discards values of the event's step, but the state of the
// step from which the run continues is not lost.
TEST_F(SummaryWriterTest, AResumedStartInvalidatesLaterSteps) {
  writer()->add_session_log(SessionLog::kStart, 100);
  EXPECT_THAT(event_steps(files_, "/runs"), ElementsAre(101));
  EXPECT_EQ(read_file(files_, "/runs/metrics.jsonl"), "{\"resumed_at\":100,\"time\":1000.5}\n");
}

TEST_F(SummaryWriterTest, AStartFromStepZeroInvalidatesValuesOfAnotherRun) {
  writer()->add_scalar("loss", 1, 0);
  writer()->add_scalar("loss", 1, 5);
  writer()->add_session_log(SessionLog::kStart, 0);
  EXPECT_THAT(event_steps(files_, "/runs"), ElementsAre(0, 5, 1));
  EXPECT_THAT(points_in_events(files_, "/runs"), ElementsAre("loss 0"));
  EXPECT_THAT(points_in_lines(files_, "/runs"), ElementsAre("loss 0"));
}

TEST_F(SummaryWriterTest, AnAnnouncedStartIsWrittenBeforeTheFirstValue) {
  const auto summaries = writer();
  summaries->start_session(7);
  summaries->start_session(7);  // Another hook announces it, too.
  EXPECT_FALSE(files_.exists("/runs"));
  summaries->add_scalar("loss", 1, 8);
  summaries->add_scalar("loss", 1, 9);
  summaries->write_start();
  EXPECT_THAT(event_steps(files_, "/runs"), ElementsAre(8, 8, 9));
  EXPECT_THAT(points_in_events(files_, "/runs"), ElementsAre("loss 8", "loss 9"));
}

TEST_F(SummaryWriterTest, AnAnnouncedStartIsWrittenOnRequest) {
  const auto summaries = writer();
  summaries->start_session(7);
  summaries->write_start();
  summaries->write_start();
  EXPECT_EQ(read_file(files_, "/runs/metrics.jsonl"), "{\"resumed_at\":7,\"time\":1000.5}\n");
}

// A recovery in one process: the step goes back, the files continue.
TEST_F(SummaryWriterTest, ASecondSessionInvalidatesTheLostStepsOfTheFirst) {
  const auto summaries = writer();
  summaries->start_session(0);
  for (int step = 1; step <= 5; ++step) summaries->add_scalar("loss", 1, step);
  summaries->start_session(2);
  summaries->add_scalar("loss", 2, 3);
  const Points expected = {"loss 1", "loss 2", "loss 3"};
  EXPECT_EQ(points_in_events(files_, "/runs"), expected);
  EXPECT_EQ(points_in_lines(files_, "/runs"), expected);
}

// Wherever a run is killed: once it resumes from its last checkpoint, both files agree.
TEST_F(SummaryWriterTest, BothFilesAgreeAfterAKillAndAResume) {
  constexpr int64_t kSaveSteps = 2;
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem failing(disk);
    failing.fail_operation(n, Code::kUnknown, Failing::kFromThenOn);
    int64_t checkpoint = 0;
    {
      SummaryWriter killed("/runs", failing, clock_);
      killed.start_session(0);
      for (int64_t step = 1; step <= 5; ++step) {
        killed.add_values(step, std::vector<SummaryValue>{
                                    {.tag = "loss", .simple_value = 1},
                                    {.tag = "note", .text = Tensor::scalar(std::string("x"))}});
        killed.add_histogram("weights", Tensor::scalar(1.0F), step);
        if (step % kSaveSteps == 0 && failing.num_failures() == 0) checkpoint = step;
      }
    }
    SummaryWriter resumed("/runs", disk, clock_);
    resumed.start_session(checkpoint);
    resumed.write_start();
    Points expected;
    for (int64_t step = 1; step <= checkpoint; ++step)
      for (const char* const tag : {"loss", "note", "weights"}) note(expected, step, tag);
    EXPECT_EQ(points_in_events(disk, "/runs"), expected) << "killed at operation " << n;
    EXPECT_EQ(points_in_lines(disk, "/runs"), expected) << "killed at operation " << n;
    if (failing.num_failures() == 0) break;
  }
}

TEST_F(SummaryWriterTest, WritesHistograms) {
  writer()->add_histogram("weights", Tensor::from<float>({1, 2}), 3);
  EXPECT_THAT(
      events_in(files_, "/runs"),
      ElementsAre(Event{.wall_time = 1000.5,
                        .step = 3,
                        .values = {{.tag = "weights",
                                    .histogram = make_histogram(Tensor::from<float>({1, 2}))}}}));
  EXPECT_THAT(read_file(files_, "/runs/metrics.jsonl"),
              HasSubstr("\"weights\":{\"min\":1.0,\"max\":2.0,\"num\":2.0"));
}

TEST_F(SummaryWriterTest, WritesTexts) {
  writer()->add_text("sample", "once *upon* a time", 3);
  EXPECT_THAT(
      events_in(files_, "/runs"),
      ElementsAre(Event{.wall_time = 1000.5,
                        .step = 3,
                        .values = {{.tag = "sample",
                                    .text = Tensor::scalar(std::string("once *upon* a time"))}}}));
  EXPECT_EQ(read_file(files_, "/runs/metrics.jsonl"),
            "{\"step\":3,\"time\":1000.5,\"sample\":\"once *upon* a time\"}\n");
}

TEST_F(SummaryWriterTest, RejectsTensorsOfOtherTypes) {
  EXPECT_THROW(writer()->add_text("sample", Tensor::scalar(1), 3), InvalidArgumentError);
  EXPECT_THROW(writer()->add_histogram("weights", Tensor::from({"x"}), 3), InvalidArgumentError);
  EXPECT_THROW(writer()->add_values(3, {}, "\xff"), DataLossError);
  EXPECT_FALSE(files_.exists("/runs"));
}

TEST_F(SummaryWriterTest, PassesOnEncodedValues) {
  const SummaryValue loss{.tag = "loss", .simple_value = 0.5};
  const std::string image("\x0a\x07\x0a\x01i\x22\x02\x08\x01", 9);
  writer()->add_values(3, {}, encode_summary(std::span(&loss, 1)) + image);
  EXPECT_THAT(read_file(files_, event_files(files_, "/runs").at(0)), HasSubstr(image));
  EXPECT_THAT(events_in(files_, "/runs").at(0).values, ElementsAre(loss));
  EXPECT_EQ(read_file(files_, "/runs/metrics.jsonl"),
            "{\"step\":3,\"time\":1000.5,\"loss\":0.5}\n");
}

TEST_F(SummaryWriterTest, WritesRunMetadataOnlyForTensorBoard) {
  writer()->add_run_metadata("step_3", "bytes", 3);
  EXPECT_THAT(events_in(files_, "/runs"),
              ElementsAre(Event{
                  .wall_time = 1000.5,
                  .step = 3,
                  .run_metadata = TaggedRunMetadata{.tag = "step_3", .run_metadata = "bytes"}}));
  EXPECT_FALSE(files_.exists("/runs/metrics.jsonl"));
}

TEST_F(SummaryWriterTest, WritesRunMetadataOncePerTag) {
  const auto summaries = writer();
  for (int i = 0; i < 2; ++i) summaries->add_run_metadata("step_3", "bytes", 3);
  EXPECT_THAT(event_steps(files_, "/runs"), ElementsAre(3));
  EXPECT_TRUE(log_.contains("step_3"));
}

TEST_F(SummaryWriterTest, ACheckpointIsWrittenWithItsPath) {
  writer()->add_session_log(SessionLog::kCheckpoint, 100, "/runs/model.ckpt-100");
  EXPECT_THAT(events_in(files_, "/runs"),
              ElementsAre(Event{
                  .wall_time = 1000.5,
                  .step = 100,
                  .session_log = SessionLogEntry{.status = SessionLog::kCheckpoint,
                                                 .checkpoint_path = "/runs/model.ckpt-100"}}));
}

TEST_F(SummaryWriterTest, AFullDiskDropsValuesAndWarnsOnce) {
  const auto summaries = writer();
  summaries->add_scalar("loss", 1, 1);
  files_.set_capacity(0);
  for (int step = 2; step < 10; ++step) EXPECT_NO_THROW(summaries->add_scalar("loss", 1, step));
  EXPECT_EQ(summaries->dropped_values(), 8);
  EXPECT_THAT(
      log_.lines(Severity::kWarning),
      ElementsAre(AllOf(HasSubstr("metrics in /runs are dropped"), HasSubstr("events.out"))));
}

TEST_F(SummaryWriterTest, ContinuesOnceTheDiskHasRoom) {
  const auto summaries = writer();
  summaries->add_scalar("loss", 1, 1);
  for (uint64_t room = 0; room < 200; ++room) {
    files_.set_capacity(files_.file_size("/runs/metrics.jsonl") +
                        files_.file_size(event_files(files_, "/runs").at(0)) + room);
    summaries->add_scalar("loss", 1, 2);
  }
  files_.set_capacity(std::nullopt);
  summaries->add_scalar("loss", 1, 3);
  EXPECT_THAT(event_steps(files_, "/runs"), testing::Contains(3));
  EXPECT_EQ(json_steps(files_, "/runs").back(), 3);
  EXPECT_GT(summaries->dropped_values(), 0);
}

TEST_F(SummaryWriterTest, LogsTheNumberOfDroppedValues) {
  files_.set_capacity(0);
  writer()->add_scalars(1, std::vector<Scalar>(3));
  EXPECT_TRUE(log_.contains("metrics in /runs: 3 values could not be written"));
}

TEST_F(SummaryWriterTest, OneFileContinuesWithoutTheOther) {
  files_.create_directories("/runs/metrics.jsonl");  // No file can be created there.
  const auto summaries = writer();
  summaries->add_scalar("loss", 1, 1);
  EXPECT_THAT(event_steps(files_, "/runs"), ElementsAre(1));
  EXPECT_EQ(summaries->dropped_values(), 1);
}

TEST_F(SummaryWriterTest, NoFailingOperationEndsTheRunOrDamagesAFile) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem failing(disk);
    failing.fail_operation(n, Code::kUnknown);
    {
      SummaryWriter summaries("/runs", failing, clock_);
      EXPECT_NO_THROW({
        summaries.add_session_log(SessionLog::kStart, 0);
        for (int step = 1; step < 4; ++step) summaries.add_scalar("loss", 1, step);
        summaries.flush();
        summaries.add_scalar("loss", 1, 4);
        summaries.add_scalar("loss", 1, 5);
      });
      EXPECT_LE(summaries.dropped_values(), 1) << "operation " << n;
    }
    if (failing.num_failures() == 0) break;
    // The very last add may be lost.
    SummaryWriter("/runs", disk, clock_).add_scalar("loss", 1, 6);
    EXPECT_GE(event_steps(disk, "/runs").size(), 6U) << "operation " << n;
    EXPECT_GE(json_steps(disk, "/runs").size(), 5U) << "operation " << n;
  }
}

TEST_F(SummaryWriterTest, FlushedValuesSurviveAPowerCut) {
  files_.create_directories("/runs");
  files_.sync_directory("/");
  const auto summaries = writer();
  summaries->add_scalar("loss", 1, 1);
  summaries->flush();
  summaries->add_scalar("loss", 1, 2);
  files_.power_cut();
  EXPECT_THAT(event_steps(files_, "/runs"), ElementsAre(1));
  EXPECT_THAT(json_steps(files_, "/runs"), ElementsAre(1));
}

TEST_F(SummaryWriterTest, ThreadsMayAddConcurrently) {
  constexpr int kNumThreads = 4;
  constexpr int kNumAdds = 250;
  const auto summaries = writer();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kNumThreads; ++i)
      threads.emplace_back([&] {
        for (int step = 0; step < kNumAdds; ++step) summaries->add_scalar("loss", 1, step);
      });
  }
  EXPECT_THAT(event_steps(files_, "/runs"), SizeIs(kNumThreads * kNumAdds));
  EXPECT_THAT(json_steps(files_, "/runs"), SizeIs(kNumThreads * kNumAdds));
}

TEST_F(SummaryWriterTest, WritesRealFilesByDefault) {
  const TempDirectory directory;
  SummaryWriter::for_directory(directory / "x")->add_scalar("loss", 0.5, 1);
  EXPECT_THAT(event_steps(FileSystem::posix(), directory / "x"), ElementsAre(1));
  EXPECT_THAT(json_steps(FileSystem::posix(), directory / "x"), ElementsAre(1));
  EXPECT_THAT(log_.lines(Severity::kWarning), IsEmpty());
}

}  // namespace
}  // namespace crochet
