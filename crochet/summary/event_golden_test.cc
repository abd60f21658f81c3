// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/internal/record_file.h"

// The file, and the script that wrote it with TensorFlow, are in tests/golden/events.
namespace crochet {
namespace {

using testing::IsEmpty;

constexpr size_t kNumEvents = 11;
// The first has fields that Event does not have, as do the last two.
constexpr size_t kNumFullyKnown = 8;

std::string golden_path() { return CROCHET_GOLDEN_DIRECTORY "/events/tensorflow.tfevents"; }

std::vector<Event> golden_events() { return read_event_file(FileSystem::posix(), golden_path()); }

TEST(EventGoldenTest, ReadsTensorFlowsFile) {
  const std::vector<Event> events = golden_events();
  ASSERT_EQ(events.size(), kNumEvents);
  EXPECT_EQ(events[0].file_version, kEventFileVersion);
  EXPECT_EQ(events[1], (Event{.wall_time = 1'700'000'000,
                              .session_log = SessionLogEntry{.status = SessionLog::kStart}}));
  EXPECT_EQ(events[2], (Event{.wall_time = 1'700'000'000.25,
                              .step = 1,
                              .values = {{.tag = "loss", .simple_value = 0.5F}}}));
  EXPECT_EQ(events[4],
            (Event{.wall_time = 1'700'000'000.75,
                   .step = int64_t{1} << 40,
                   .session_log = SessionLogEntry{.status = SessionLog::kCheckpoint,
                                                  .checkpoint_path = "/runs/x/model.ckpt-300"}}));
  EXPECT_EQ(
      events[5],
      (Event{.wall_time = 1'700'000'001,
             .step = -1,
             .session_log = SessionLogEntry{.status = SessionLog::kStop, .message = "done"}}));
}

TEST(EventGoldenTest, ReadsSpecialNumbers) {
  const Event event = golden_events().at(3);
  EXPECT_EQ(event.step, 300);
  ASSERT_EQ(event.values.size(), 3U);
  EXPECT_EQ(event.values[0].tag, "loss");
  EXPECT_TRUE(std::isnan(event.values[0].simple_value));
  EXPECT_EQ(event.values[1], (SummaryValue{.tag = "global_step/sec", .simple_value = 0}));
  EXPECT_EQ(
      event.values[2],
      (SummaryValue{.tag = "größe", .simple_value = -std::numeric_limits<float>::infinity()}));
}

TEST(EventGoldenTest, MakesTheHistogramThatTensorFlowMakes) {
  const Event event = golden_events().at(6);
  const auto values = Tensor::from<double>({-2.5, -1e-13, -0.0, 0.5, 0.5, 1e30, 1e-12});
  EXPECT_EQ(event, (Event{.wall_time = 1'700'000'001.25,
                          .step = 301,
                          .values = {{.tag = "weights", .histogram = make_histogram(values)}}}));
}

TEST(EventGoldenTest, ReadsTexts) {
  const std::vector<Event> events = golden_events();
  ASSERT_EQ(events.size(), kNumEvents);
  EXPECT_EQ(
      events[7],
      (Event{.wall_time = 1'700'000'001.5,
             .step = 302,
             .values = {{.tag = "notes", .text = Tensor::scalar(std::string("a *small* step"))}}}));
  EXPECT_EQ(events[8],
            (Event{.wall_time = 1'700'000'001.75,
                   .step = 303,
                   .values = {{.tag = "table",
                               .text = Tensor::from({"größe", "", "1", "2"}, Shape{2, 2})}}}));
}

TEST(EventGoldenTest, SkipsUnknownFields) {
  const std::vector<Event> events = golden_events();
  ASSERT_EQ(events.size(), kNumEvents);
  EXPECT_EQ(events[9], (Event{.wall_time = 1'700'000'002,
                              .step = 304,
                              .values = {{.tag = "loss", .simple_value = 0.125F}}}));
  EXPECT_THAT(events[10].values, IsEmpty());
}

TEST(EventGoldenTest, EncodesTheSameBytes) {
  const auto file = FileSystem::posix().open(golden_path());
  internal::RecordReader records(*file, golden_path());
  records.read();
  for (size_t i = 1; i <= kNumFullyKnown; ++i) {
    const auto record = records.read();
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(encode_event(decode_event(*record)), *record) << "event " << i;
  }
}

}  // namespace
}  // namespace crochet
