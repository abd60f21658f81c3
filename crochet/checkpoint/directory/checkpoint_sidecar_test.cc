// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CheckpointSidecar example() {
  return {.step = 2000,
          .unix_time = 1700000000.25,
          .retention_time = 1700000001.5,
          .size_bytes = uint64_t{1} << 40,
          .shared_bytes = uint64_t{1} << 39,
          .index_crc32c = 0x0ab5eb7a,
          .library_version = "0.1.0",
          .build = "GNU 12.2.0",
          .command_line = {"./train", "--name=\"x\"", ""},
          .threads = "8 cores, OMP_NUM_THREADS=4",
          .metrics = {{"accuracy", 0.1}, {"loss", 2.5}},
          .better = {{"accuracy", Better::kHigher}, {"loss", Better::kLower}},
          .went_back_to = "the checkpoint of step 1200",
          .renamed = {"{\"model/*\", \"old/*\"}"},
          .initial_values = {{"batch", "32"}, {"rate", "0.1"}},
          .pinned = true,
          .preserved = true};
}

class CheckpointSidecarTest : public testing::Test {
 protected:
  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(CheckpointSidecarTest, RoundTrips) {
  write_sidecar(files_, "m-1", example());
  EXPECT_EQ(read_sidecar(files_, "m-1"), example());
  EXPECT_THAT(read_file(files_, "m-1.json"), HasSubstr("\"index_crc32c\": \"0ab5eb7a\""));
  EXPECT_THAT(files_.list(""), ElementsAre("m-1.json"));
}

TEST_F(CheckpointSidecarTest, TheVersionIsFilledInAndTheCommandLineIsNot) {
  write_sidecar(files_, "m-1", {.step = 1});
  const auto sidecar = read_sidecar(files_, "m-1");
  ASSERT_TRUE(sidecar);
  EXPECT_THAT(sidecar->library_version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(sidecar->command_line, IsEmpty());
}

// A process that adds to the sidecar of another one's checkpoint is not its saver.
TEST_F(CheckpointSidecarTest, AChangeKeepsTheCommandLineEmpty) {
  internal::put_file(files_, "m-1.index", "an index");
  write_sidecar(files_, "m-1", {.step = 1});
  record_metrics(files_, "m-1", {{"loss", 0.5}});
  EXPECT_THAT(read_sidecar(files_, "m-1")->command_line, IsEmpty());
}

TEST_F(CheckpointSidecarTest, AMissingSidecarIsUnsetWithoutAWarning) {
  EXPECT_FALSE(read_sidecar(files_, "m-1"));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(CheckpointSidecarTest, NonFiniteMetricsAreReadAsNaN) {
  CheckpointSidecar sidecar = example();
  sidecar.metrics = {{"loss", std::numeric_limits<double>::infinity()}};
  write_sidecar(files_, "m-1", sidecar);
  EXPECT_TRUE(std::isnan(read_sidecar(files_, "m-1")->metrics.at("loss")));
}

TEST_F(CheckpointSidecarTest, ArgumentsOfAnyBytesAreWritten) {
  CheckpointSidecar sidecar = example();
  sidecar.command_line = {"\xff\xfe"};
  write_sidecar(files_, "m-1", sidecar);
  EXPECT_THAT(read_sidecar(files_, "m-1")->command_line, SizeIs(1));
}

TEST_F(CheckpointSidecarTest, MissingFieldsHaveDefaults) {
  internal::put_file(files_, "m-1.json", "{\"step\": 7, \"future\": [1]}");
  EXPECT_EQ(read_sidecar(files_, "m-1"), CheckpointSidecar{.step = 7});
}

TEST_F(CheckpointSidecarTest, ADamagedSidecarIsUnsetWithAWarning) {
  for (const std::string_view text : {"{\"step\": 1e300}",
                                      "{\"step\": 18446744073709551615}",
                                      "{\"size_bytes\": -1}",
                                      "{\"shared_bytes\": -1}",
                                      "{\"unix_time\": -1}",
                                      "{\"unix_time\": 1e300}",
                                      "{\"retention_time\": null}",
                                      "{\"pinned\": 1}",
                                      "{\"command_line\": [1]}",
                                      "{\"metrics\": []}",
                                      "null",
                                      "{\"index_crc32c\": \"-1234567\"}",
                                      "",
                                      "{",
                                      "[]",
                                      "{\"step\": \"x\"}",
                                      "{\"index_crc32c\": \"12\"}",
                                      "{\"metrics\": {\"a\": \"b\"}}",
                                      "{\"index_crc32c\": \"zzzzzzzz\"}",
                                      "{\"better\": {\"a\": \"best\"}}",
                                      "{\"better\": {\"a\": 1}}",
                                      "{\"went_back_to\": 1}",
                                      "{\"renamed\": [1]}",
                                      "{\"initial_values\": [1]}",
                                      "{\"initial_values\": {\"rate\": 0.1}}",
                                      "\xff"}) {
    log_.clear();
    internal::put_file(files_, "m-1.json", text);
    EXPECT_FALSE(read_sidecar(files_, "m-1")) << text;
    EXPECT_THAT(log_.lines(Severity::kWarning), ElementsAre(HasSubstr("m-1.json: damaged")));
  }
}

TEST_F(CheckpointSidecarTest, LoadingADamagedSidecarReportsTheError) {
  internal::put_file(files_, "m-1.json", "{\"pinned\": \"yes\"}");
  EXPECT_THAT(
      [&] { load_sidecar(files_, "m-1"); },
      testing::ThrowsMessage<DataLossError>("m-1.json: pinned is \"yes\", expected true or false"));
  internal::put_file(files_, "m-1.json", std::string((1 << 20) + 1, ' '));
  EXPECT_THAT(
      [&] { load_sidecar(files_, "m-1"); },
      testing::ThrowsMessage<DataLossError>("m-1.json: 1048577 bytes, expected at most 1048576"));
}

// Neither the parser nor code that uses its result recurses as deep as the input.
TEST_F(CheckpointSidecarTest, DeepNestingIsAnErrorAndNotAStackOverflow) {
  const std::string open(500'000, '['), close(500'000, ']');
  for (const std::string& text :
       {open, "{\"step\":" + open + close + "}", open + close, "{\"unknown\":" + open + close + "}",
        "{\"metrics\":{\"loss\":" + open + close + "}}"}) {
    internal::put_file(files_, "m-1.json", text);
    EXPECT_THAT([&] { load_sidecar(files_, "m-1"); },
                testing::ThrowsMessage<DataLossError>(HasSubstr("nested deeper than 32 levels")));
  }
}

TEST_F(CheckpointSidecarTest, RejectsASidecarThatCouldNotBeReadBack) {
  CheckpointSidecar sidecar = example();
  sidecar.metrics[std::string(1 << 20, 'x')] = 1;
  EXPECT_THROW(write_sidecar(files_, "m-1", sidecar), InvalidArgumentError);
  EXPECT_THAT(files_.list(""), IsEmpty());
}

TEST_F(CheckpointSidecarTest, MetricsAndPinsAreAddedLater) {
  internal::put_file(files_, "m-1.index", "the index");
  CheckpointSidecar expected = example();
  expected.pinned = false;
  write_sidecar(files_, "m-1", expected);
  record_metrics(files_, "m-1", {{"loss", 2}, {"f1", 3}});
  expected.metrics = {{"accuracy", 0.1}, {"f1", 3}, {"loss", 2}};
  EXPECT_EQ(read_sidecar(files_, "m-1"), expected);
  set_pinned(files_, "m-1", true);
  expected.pinned = true;
  EXPECT_EQ(read_sidecar(files_, "m-1"), expected);
  EXPECT_THROW(record_metrics(files_, "m-2", {{"loss", 2}}), NotFoundError);
  EXPECT_THROW(set_pinned(files_, "m-2", true), NotFoundError);
  EXPECT_FALSE(files_.exists("m-2.json"));
}

// The writer of the checkpoint stays unknown.
TEST_F(CheckpointSidecarTest, AMissingSidecarIsCreatedAgain) {
  internal::put_file(files_, "m-7.index", "the index");
  set_pinned(files_, "m-7", true);
  const auto sidecar = read_sidecar(files_, "m-7");
  ASSERT_TRUE(sidecar);
  EXPECT_EQ(sidecar->step, 7);
  EXPECT_EQ(sidecar->index_crc32c, 0u);
  EXPECT_EQ(sidecar->command_line, std::vector<std::string>{"unknown"});
  EXPECT_TRUE(sidecar->pinned);
}

TEST_F(CheckpointSidecarTest, EveryTruncationIsUnsetOrTheSame) {
  write_sidecar(files_, "m-1", example());
  const std::string text = read_file(files_, "m-1.json");
  for (size_t size = 0; size < text.size(); ++size) {
    internal::put_file(files_, "m-1.json", text.substr(0, size));
    const auto sidecar = read_sidecar(files_, "m-1");
    // The final newline may be missing.
    EXPECT_EQ(sidecar.has_value(), size + 1 == text.size()) << size;
  }
}

}  // namespace
}  // namespace crochet
