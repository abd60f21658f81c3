// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/record_file.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string framed(const std::vector<std::string>& records) {
  std::string bytes;
  for (const std::string& record : records) append_record(bytes, record);
  return bytes;
}

void put(FileSystem& files, const std::string& path, std::string_view bytes) {
  files.create(path)->append(bytes);
}

// Adds each record to `records`, so that those before an error are kept.
void read_all(const std::string& bytes, std::vector<std::string>& records) {
  MemoryFileSystem files;
  put(files, "f", bytes);
  const auto file = files.open("f");
  RecordReader reader(*file, "f");
  while (auto record = reader.read()) records.push_back(*std::move(record));
}

std::vector<std::string> read_all(const std::string& bytes) {
  std::vector<std::string> records;
  read_all(bytes, records);
  return records;
}

const std::vector<std::string> kRecords = {"one", "", std::string("\0\n\xff", 3),
                                           std::string(5000, 'x')};

TEST(RecordFileTest, ReturnsWrittenRecords) {
  MemoryFileSystem files;
  RecordWriter writer(files.create("f"));
  for (const std::string& record : kRecords) writer.write(record);
  EXPECT_EQ(files.file_size("f"), 0U);
  writer.flush();
  EXPECT_EQ(writer.flushed_bytes(), files.file_size("f"));
  EXPECT_THAT(read_all(read_file(files, "f")), ElementsAreArray(kRecords));
}

TEST(RecordFileTest, FramesRecordsAsTensorFlowDoes) {
  // The first bytes of an events file written by TensorFlow 2.21.
  const std::string expected("\x0d\0\0\0\0\0\0\0\x3c\x37\xb8\x34", kRecordHeaderBytes);
  const std::string data("\x09\0\0\0\x40\xfc\x54\xd9\x41\x3a\x02\x08\x01", 13);
  EXPECT_EQ(framed({data}), expected + data + "\xb7\xa3\x6b\x29");
}

TEST(RecordFileTest, AnEmptyFileHasNoRecords) { EXPECT_THAT(read_all(""), ElementsAre()); }

TEST(RecordFileTest, BuffersRecordsUntilFlushed) {
  MemoryFileSystem files;
  {
    RecordWriter writer(files.create("f"));
    writer.write("flushed");
    writer.flush();
    writer.write("not flushed");
  }
  EXPECT_THAT(read_all(read_file(files, "f")), ElementsAre("flushed"));
}

TEST(RecordFileTest, SyncedRecordsSurviveAPowerCut) {
  MemoryFileSystem files;
  RecordWriter writer(files.create("f"));
  files.sync_directory("/");
  writer.write("synced");
  writer.sync();
  writer.write("flushed");
  writer.flush();
  files.power_cut();
  EXPECT_THAT(read_all(read_file(files, "f")), ElementsAre("synced"));
}

TEST(RecordFileTest, AppendsOncePerFlush) {
  MemoryFileSystem disk;
  FailingFileSystem files(disk);
  RecordWriter writer(files.create("f"));
  writer.flush();
  writer.write("a");
  writer.write("b");
  writer.flush();
  EXPECT_THAT(files.operations(), ElementsAre("create f", "append f 34"));
}

TEST(RecordFileTest, DetectsEveryFlippedBit) {
  const std::string good = framed({"first", "second"});
  for (size_t i = 0; i < 8 * good.size(); ++i) {
    std::string bad = good;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << i % 8));
    EXPECT_THROW(read_all(bad), DataLossError) << "bit " << i;
  }
}

TEST(RecordFileTest, DetectsEveryTruncationExceptBetweenRecords) {
  const std::string good = framed({"first", "second"});
  const size_t boundary = framed({"first"}).size();
  for (size_t size = 1; size < good.size(); ++size) {
    std::vector<std::string> records;
    if (size == boundary) {
      EXPECT_NO_THROW(read_all(good.substr(0, size), records));
    } else {
      EXPECT_THROW(read_all(good.substr(0, size), records), DataLossError) << size << " bytes";
    }
    EXPECT_EQ(records.size(), size < boundary ? 0U : 1U) << size << " bytes";
  }
}

TEST(RecordFileTest, AllocatesNoMemoryForALengthBeyondTheFile) {
  for (const uint64_t length : {uint64_t{1} << 60, ~uint64_t{0}, ~uint64_t{0} - 15}) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
    const uint32_t crc = mask_crc32c(crc32c(bytes));
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(crc >> (8 * i));
    EXPECT_THAT([&] { read_all(bytes + "abcdefgh"); },
                ThrowsMessage<DataLossError>(
                    AllOf(HasSubstr("f: the record at offset 0 is truncated"),
                          HasSubstr(std::to_string(length)), HasSubstr("8 bytes are left"))));
  }
}

TEST(RecordFileTest, ReportsWhichChecksumIsWrong) {
  std::string bytes = framed({"first", "second"});
  bytes[framed({"first"}).size() + kRecordHeaderBytes] = 'S';
  EXPECT_THAT([&] { read_all(bytes); },
              ThrowsMessage<DataLossError>(AllOf(
                  HasSubstr("f: "), HasSubstr("6 bytes at offset 33"), HasSubstr(", expected "))));
}

TEST(RecordFileTest, ReadsATruncatedRecordAgainOnceItIsComplete) {
  MemoryFileSystem files;
  const std::string whole = framed({"record"});
  const auto writable = files.create("f");
  writable->append(whole.substr(0, 15));
  {
    const auto file = files.open("f");
    RecordReader reader(*file, "f");
    EXPECT_THROW(reader.read(), DataLossError);
    EXPECT_THROW(reader.read(), DataLossError);
    EXPECT_EQ(reader.offset(), 0U);
  }
  writable->append(whole.substr(15));
  const auto file = files.open("f");
  RecordReader reader(*file, "f");
  EXPECT_EQ(reader.read(), "record");
  EXPECT_EQ(reader.offset(), whole.size());
}

}  // namespace
}  // namespace crochet::internal
