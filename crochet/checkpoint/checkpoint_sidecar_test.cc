// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_sidecar.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/raw_bundle.h"
#include "crochet/io/memory_file_system.h"
#include "crochet/testing/log_capture.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CheckpointSidecar example() {
  return {.step = 2000,
          .unix_time = 1700000000.25,
          .size_bytes = uint64_t{1} << 40,
          .index_crc32c = 0x0ab5eb7a,
          .library_version = "0.1.0",
          .command_line = {"./train", "--name=\"x\"", ""},
          .metrics = {{"accuracy", 0.1}, {"loss", 2.5}}};
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

TEST_F(CheckpointSidecarTest, VersionAndCommandLineAreFilledIn) {
  write_sidecar(files_, "m-1", {.step = 1});
  const auto sidecar = read_sidecar(files_, "m-1");
  ASSERT_TRUE(sidecar);
  EXPECT_THAT(sidecar->library_version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  ASSERT_FALSE(sidecar->command_line.empty());
  EXPECT_THAT(sidecar->command_line.front(), HasSubstr("crochet_checkpoint_test"));
}

TEST_F(CheckpointSidecarTest, NoSidecarIsNothingWithoutAWord) {
  EXPECT_FALSE(read_sidecar(files_, "m-1"));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(CheckpointSidecarTest, MetricsThatAreNotFiniteComeBackAsNaN) {
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

TEST_F(CheckpointSidecarTest, DamagedOnesAreNothingWithAWarning) {
  for (const std::string_view text :
       {"", "{", "[]", "{\"step\": \"x\"}", "{\"index_crc32c\": \"12\"}",
        "{\"metrics\": {\"a\": \"b\"}}", "{\"index_crc32c\": \"zzzzzzzz\"}", "\xff"}) {
    log_.clear();
    internal::put_file(files_, "m-1.json", text);
    EXPECT_FALSE(read_sidecar(files_, "m-1")) << text;
    EXPECT_THAT(log_.lines(Severity::kWarning), ElementsAre(HasSubstr("m-1.json: damaged")));
  }
}

TEST_F(CheckpointSidecarTest, EveryCutLengthIsNothingOrTheSame) {
  write_sidecar(files_, "m-1", example());
  const std::string text = read_file(files_, "m-1.json");
  for (size_t size = 0; size < text.size(); ++size) {
    internal::put_file(files_, "m-1.json", text.substr(0, size));
    const auto sidecar = read_sidecar(files_, "m-1");
    // The newline at the end may go.
    EXPECT_EQ(sidecar.has_value(), size + 1 == text.size()) << size;
  }
}

}  // namespace
}  // namespace crochet
