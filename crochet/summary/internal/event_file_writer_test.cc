// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/event_file_writer.h"

#include <unistd.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::ThrowsMessage;

Event point(int64_t step) {
  return {.wall_time = 1, .step = step, .values = {{.tag = "loss", .simple_value = 0.5F}}};
}

TEST(EventFileWriterTest, NamesTheFileAsTensorFlowDoes) {
  MemoryFileSystem files;
  const FakeClock clock(123'456'789.75);
  const EventFileWriter writer(files, clock, "runs/x");
  EXPECT_THAT(writer.path(),
              AllOf(MatchesRegex("runs/x/events\\.out\\.tfevents\\.0123456789\\..+\\.[0-9]+"),
                    HasSubstr("." + std::to_string(getpid()) + ".")));
  EXPECT_THAT(event_files(files, "runs/x"), ElementsAre(writer.path()));
}

TEST(EventFileWriterTest, StartsWithTheFileVersion) {
  MemoryFileSystem files;
  const FakeClock clock(1000.5);
  const EventFileWriter writer(files, clock, "runs");
  EXPECT_THAT(read_event_file(files, writer.path()),
              ElementsAre(Event{.wall_time = 1000.5, .file_version = "brain.Event:2"}));
}

TEST(EventFileWriterTest, MakesEventsVisibleWhenFlushed) {
  MemoryFileSystem files;
  EventFileWriter writer(files, FakeClock(), "runs");
  writer.write(point(1));
  writer.write(point(2));
  EXPECT_THAT(read_event_file(files, writer.path()), SizeIs(1));
  writer.flush();
  const auto events = read_event_file(files, writer.path());
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[1], point(1));
  EXPECT_EQ(events[2], point(2));
}

TEST(EventFileWriterTest, FlushesWhenMuchIsBuffered) {
  MemoryFileSystem files;
  EventFileWriter writer(files, FakeClock(), "runs");
  for (int i = 0; i < 10'000; ++i) writer.write(point(i));
  EXPECT_GT(files.file_size(writer.path()), 100'000U);
}

TEST(EventFileWriterTest, SyncedEventsSurviveAPowerCut) {
  MemoryFileSystem files;
  files.create_directories("runs");
  files.sync_directory("/");
  EventFileWriter writer(files, FakeClock(), "runs");
  writer.write(point(1));
  writer.sync();
  writer.write(point(2));
  writer.flush();
  files.power_cut();
  EXPECT_THAT(read_event_file(files, writer.path()), SizeIs(2));
}

TEST(EventFileWriterTest, NamesOfNewerFilesSortAfterOlderOnes) {
  MemoryFileSystem files;
  FakeClock clock(2000);
  std::vector<std::string> paths;
  for (int i = 0; i < 12; ++i) {
    paths.push_back(EventFileWriter(files, clock, "runs").path());
    clock.set_wall_time(2000 - i);  // The clock is set back.
  }
  EXPECT_EQ(event_files(files, "runs"), paths);
}

TEST(EventFileWriterTest, IgnoresOtherFilesInTheDirectory) {
  MemoryFileSystem files;
  files.create_directories("runs");
  for (const char* name : {"checkpoint", "events.out.tfevents.", "events.out.tfevents.x.y",
                           "events.out.tfevents.9999999999.h", "events.out.tfevents.-5.h"})
    files.create(join_path("runs", name));
  const EventFileWriter writer(files, FakeClock(3000), "runs");
  EXPECT_THAT(writer.path(), HasSubstr("tfevents.0000003000."));
}

TEST(EventFileWriterTest, ThrowsOnAFullDisk) {
  MemoryFileSystem files;
  EventFileWriter writer(files, FakeClock(), "runs");
  files.set_capacity(files.file_size(writer.path()) + 10);
  writer.write(point(1));
  EXPECT_THROW(writer.flush(), ResourceExhaustedError);
}

TEST(EventFileWriterTest, LeavesOnlyWholeRecordsAfterAnError) {
  MemoryFileSystem disk;
  FailingFileSystem files(disk);
  EventFileWriter writer(files, FakeClock(), "runs");
  writer.write(point(1));
  writer.flush();
  files.fail_operation(files.num_operations(), Code::kUnknown);
  writer.write(point(2));
  EXPECT_THROW(writer.flush(), UnknownError);
  EXPECT_THAT(read_event_file(disk, writer.path()), SizeIs(2));
}

TEST(EventFileWriterTest, IsUnusableAfterAnError) {
  MemoryFileSystem disk;
  FailingFileSystem files(disk);
  EventFileWriter writer(files, FakeClock(), "runs");
  files.fail_operation(files.num_operations(), Code::kUnknown);
  EXPECT_THROW(writer.sync(), UnknownError);
  EXPECT_THAT([&] { writer.write(point(1)); },
              ThrowsMessage<FailedPreconditionError>(EndsWith("write after a write error")));
}

TEST(EventFileWriterTest, LeavesNoFileIfCreationFails) {
  MemoryFileSystem files;
  files.set_capacity(5);
  EXPECT_THROW(EventFileWriter(files, FakeClock(), "runs"), ResourceExhaustedError);
  EXPECT_THAT(files.list("runs"), IsEmpty());
}

TEST(EventFileReaderTest, ReturnsTheEventsBeforeATruncation) {
  MemoryFileSystem files;
  EventFileWriter writer(files, FakeClock(), "runs");
  writer.write(point(1));
  writer.write(point(2));
  writer.flush();
  files.truncate(writer.path(), files.file_size(writer.path()) - 1);
  EventFileReader reader(files, writer.path());
  reader.read();
  EXPECT_EQ(reader.read(), point(1));
  EXPECT_THAT([&] { reader.read(); }, ThrowsMessage<DataLossError>(HasSubstr(writer.path())));
}

TEST(EventFileReaderTest, ReportsWhichRecordIsNotAnEvent) {
  MemoryFileSystem files;
  RecordWriter records(files.create("f"));
  records.write(encode_event(point(1)));
  const size_t offset = records.buffered_bytes();
  records.write("\xff\xff\xff");
  records.flush();
  EXPECT_THAT(
      [&] { read_event_file(files, "f"); },
      ThrowsMessage<DataLossError>(HasSubstr("f: record at offset " + std::to_string(offset))));
}

TEST(EventFileReaderTest, AMissingDirectoryHasNoEventFiles) {
  MemoryFileSystem files;
  EXPECT_THAT(event_files(files, "nowhere"), IsEmpty());
}

}  // namespace
}  // namespace crochet::internal
