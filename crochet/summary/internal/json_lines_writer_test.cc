// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/json_lines_writer.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;

std::string line_for(const std::vector<SummaryValue>& scalars) {
  MemoryFileSystem files;
  JsonLinesWriter(files, "m").write(7, 1.5, scalars);
  return read_file(files, "m");
}

// The content of a file with `content` after it was opened again.
std::string reopened(const std::string& content) {
  MemoryFileSystem files;
  files.create("m")->append(content);
  const JsonLinesWriter writer(files, "m");
  return read_file(files, "m");
}

TEST(JsonLinesWriterTest, WritesOneObjectPerLine) {
  MemoryFileSystem files;
  JsonLinesWriter writer(files, "runs/x/metrics.jsonl");
  writer.write(100, 1'700'000'000.25,
               std::vector<SummaryValue>{{.tag = "loss", .simple_value = 0.1},
                                         {.tag = "accuracy", .simple_value = 1}});
  writer.write_resumed(100, 1'700'000'300.5);
  EXPECT_EQ(read_file(files, "runs/x/metrics.jsonl"),
            "{\"step\":100,\"time\":1700000000.25,\"loss\":0.1,\"accuracy\":1.0}\n"
            "{\"resumed_at\":100,\"time\":1700000300.5}\n");
}

TEST(JsonLinesWriterTest, NanAndInfinitiesAreStrings) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(line_for({{.tag = "a", .simple_value = NAN},
                      {.tag = "b", .simple_value = kInfinity},
                      {.tag = "c", .simple_value = -kInfinity}}),
            "{\"step\":7,\"time\":1.5,\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\"}\n");
}

TEST(JsonLinesWriterTest, NumbersKeepAllTheirBits) {
  for (const double value : {0.1, 1e-310, -0.0, 1.7976931348623157e308, 1.0 / 3, 16777217.0}) {
    const auto object = nlohmann::json::parse(line_for({{.tag = "v", .simple_value = value}}));
    const double read = object.at("v").get<double>();
    EXPECT_EQ(read, value);
    EXPECT_EQ(std::signbit(read), std::signbit(value));
  }
}

TEST(JsonLinesWriterTest, WritesValidJsonForAnyTag) {
  const std::vector<std::string> tags = {"", "a\"b\\c\n", std::string("\0", 1), "größe",
                                         "\xff\xfe"};
  for (const std::string& tag : tags) {
    const std::string line = line_for({{.tag = tag, .simple_value = 1}});
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(nlohmann::json::parse(line).size(), 3U) << line;
  }
}

TEST(JsonLinesWriterTest, AHistogramIsAnObject) {
  const Histogram histogram{.min = -1,
                            .max = 2,
                            .num = 3,
                            .sum = 1,
                            .sum_squares = std::numeric_limits<double>::infinity(),
                            .bucket_limit = {0, 3},
                            .bucket = {1, 2}};
  EXPECT_EQ(line_for({{.tag = "w", .histogram = histogram}}),
            "{\"step\":7,\"time\":1.5,\"w\":{\"min\":-1.0,\"max\":2.0,\"num\":3.0,\"sum\":1.0,"
            "\"sum_squares\":\"Infinity\",\"bucket_limit\":[0.0,3.0],\"bucket\":[1.0,2.0]}}\n");
}

TEST(JsonLinesWriterTest, ATextIsAStringOrListsOfThem) {
  EXPECT_EQ(line_for({{.tag = "a", .text = Tensor::scalar(std::string("x\ny"))},
                      {.tag = "b", .text = Tensor::from({"x", "y"})},
                      {.tag = "c", .text = Tensor::from({"1", "2", "3", "4"}, Shape{2, 2})},
                      {.tag = "d", .text = Tensor::from(std::vector<std::string>(), Shape{2, 0})},
                      {.tag = "e", .text = Tensor::scalar(std::string("\xff"))}}),
            "{\"step\":7,\"time\":1.5,\"a\":\"x\\ny\",\"b\":[\"x\",\"y\"],"
            "\"c\":[[\"1\",\"2\"],[\"3\",\"4\"]],\"d\":[[],[]],\"e\":\"\xef\xbf\xbd\"}\n");
}

TEST(JsonLinesWriterTest, TagsDoNotHideStepAndTime) {
  EXPECT_EQ(line_for({{.tag = "step", .simple_value = 1},
                      {.tag = "time", .simple_value = 2},
                      {.tag = "resumed_at", .simple_value = 3}}),
            "{\"step\":7,\"time\":1.5,\"step_\":1.0,\"time_\":2.0,\"resumed_at_\":3.0}\n");
}

TEST(JsonLinesWriterTest, AppendsEachLineAtOnce) {
  MemoryFileSystem disk;
  FailingFileSystem files(disk);
  JsonLinesWriter writer(files, "/m");
  const auto before = files.num_operations();
  writer.write(1, 2, std::vector<SummaryValue>{{.tag = "loss", .simple_value = 0.5}});
  EXPECT_EQ(files.operations().back(), "append /m 33");
  EXPECT_EQ(files.num_operations(), before + 1);
}

TEST(JsonLinesWriterTest, AppendsToExistingLines) {
  MemoryFileSystem files;
  JsonLinesWriter(files, "m").write_resumed(1, 2);
  JsonLinesWriter(files, "m").write_resumed(3, 4);
  EXPECT_EQ(read_file(files, "m"),
            "{\"resumed_at\":1,\"time\":2.0}\n{\"resumed_at\":3,\"time\":4.0}\n");
}

TEST(JsonLinesWriterTest, RemovesAnIncompleteLastLine) {
  const std::string line = "{\"step\":1,\"time\":2.0,\"loss\":0.5}\n";
  for (size_t size = 0; size < line.size(); ++size) {
    EXPECT_EQ(reopened(line + line.substr(0, size)), line) << size << " bytes";
    EXPECT_EQ(reopened(line.substr(0, size)), "") << size << " bytes";
  }
  EXPECT_EQ(reopened(line + line), line + line);
}

TEST(JsonLinesWriterTest, FindsTheLastWholeLineFarFromTheEnd) {
  for (const size_t size : {4094, 4095, 4096, 4097, 8191, 8192, 10'000}) {
    const std::string torn(size, '\0');  // Some file systems leave zeros after a power cut.
    EXPECT_EQ(reopened("{}\n" + torn), "{}\n") << size << " bytes";
    EXPECT_EQ(reopened(torn), "") << size << " bytes";
  }
}

TEST(JsonLinesWriterTest, KeepsAnIncompleteLineThatItDidNotWrite) {
  const LogCapture log;
  for (const std::string other : {"notes", "{\"stop\":", "[1, 2]", "{}", " "}) {
    EXPECT_EQ(reopened(other), other + "\n");
    EXPECT_EQ(reopened("{}\n" + other), "{}\n" + other + "\n");
  }
  EXPECT_TRUE(log.contains("m: the last line is incomplete and not ours"));
}

// Only the end of a file with terabytes of zeros is read.
TEST(JsonLinesWriterTest, KeepsALineThatIsTooLong) {
  MemoryFileSystem files;
  const std::string other(size_t{65} << 20, 'x');
  {
    const auto file = files.create("m");
    file->append(std::string_view(other));
    file->close();
  }
  const LogCapture log;
  JsonLinesWriter(files, "m").write_resumed(1, 2);
  const std::string content = read_file(files, "m");
  EXPECT_TRUE(content == other + "\n{\"resumed_at\":1,\"time\":2.0}\n") << content.size();
  EXPECT_TRUE(log.contains("m: no line ends in the last 67108864 bytes"));
}

TEST(JsonLinesWriterTest, ThrowsWhenTheDiskIsFull) {
  MemoryFileSystem files;
  JsonLinesWriter writer(files, "m");
  files.set_capacity(10);
  EXPECT_THROW(writer.write_resumed(1, 2), ResourceExhaustedError);
}

TEST(JsonLinesWriterTest, SyncedLinesSurviveAPowerCut) {
  MemoryFileSystem files;
  JsonLinesWriter writer(files, "/m");
  writer.write_resumed(1, 2);
  writer.sync();
  writer.write_resumed(3, 4);
  for (const UnsyncedBytes bytes : {UnsyncedBytes::kHalf, UnsyncedBytes::kLost}) {
    files.power_cut({.bytes = bytes});
    const JsonLinesWriter again(files, "/m");
    EXPECT_EQ(read_file(files, "/m"), "{\"resumed_at\":1,\"time\":2.0}\n");
  }
}

}  // namespace
}  // namespace crochet::internal
