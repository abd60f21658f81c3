// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoint_state.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using internal::put_file;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;
using testing::ThrowsMessage;

class CheckpointStateTest : public testing::Test {
 protected:
  CheckpointStateTest() {
    files_.create_directories("/train");
    files_.create_directories("train");
  }

  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(CheckpointStateTest, TextIsTensorFlows) {
  const CheckpointState state{.model_checkpoint_path = "model.ckpt-200",
                              .all_model_checkpoint_paths = {"model.ckpt-100", "model.ckpt-200"}};
  EXPECT_EQ(to_text(state),
            "model_checkpoint_path: \"model.ckpt-200\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-100\"\n"
            "all_model_checkpoint_paths: \"model.ckpt-200\"\n");
}

TEST_F(CheckpointStateTest, TextReadsBackTheSame) {
  const CheckpointState state{
      .model_checkpoint_path = "/a \"b\"/ü\n-2",
      .all_model_checkpoint_paths = {"", "/a \"b\"/ü\n-2"},
      .all_model_checkpoint_timestamps = {1700000000.123456,
                                          std::numeric_limits<double>::infinity()},
      .last_preserved_timestamp = 3.0};
  EXPECT_EQ(parse_checkpoint_state(to_text(state)), state);
  EXPECT_EQ(parse_checkpoint_state(""), CheckpointState{});
}

TEST_F(CheckpointStateTest, ReadsWhatPythonWrote) {
  const CheckpointState state = parse_checkpoint_state(
      "model_checkpoint_path: \"m\\303\\251-2\"\n"
      "all_model_checkpoint_paths: 'm-1'\n"
      "all_model_checkpoint_paths: \"m\\303\\251-2\"\n"
      "all_model_checkpoint_timestamps: 1e+16\n"
      "all_model_checkpoint_timestamps: 17\n"
      "future_field { a: 1 }\n"
      "last_preserved_timestamp: -2.5f\n");
  EXPECT_EQ(state.model_checkpoint_path, "m\xc3\xa9-2");
  EXPECT_THAT(state.all_model_checkpoint_paths, ElementsAre("m-1", "m\xc3\xa9-2"));
  EXPECT_THAT(state.all_model_checkpoint_timestamps, ElementsAre(1e16, 17));
  EXPECT_THAT(state.last_preserved_timestamp, Optional(-2.5));
}

TEST_F(CheckpointStateTest, ValuesOfAWrongKindAreErrors) {
  for (const std::string_view text :
       {"model_checkpoint_path: 5", "all_model_checkpoint_timestamps: \"5\"",
        "last_preserved_timestamp: soon", "last_preserved_timestamp: 1.2.3",
        "model_checkpoint_path: 'a' model_checkpoint_path: 'b'"})
    EXPECT_THROW(parse_checkpoint_state(text), InvalidArgumentError) << text;
}

// CM-5
TEST_F(CheckpointStateTest, TheNewestIsAppendedToTheOthers) {
  EXPECT_THAT(make_checkpoint_state("/d", "/d/m-2").all_model_checkpoint_paths,
              ElementsAre("/d/m-2"));
  EXPECT_THAT(make_checkpoint_state("/d", "/d/m-2", {"/d/m-1"}).all_model_checkpoint_paths,
              ElementsAre("/d/m-1", "/d/m-2"));
  EXPECT_THAT(make_checkpoint_state("/d", "/d/m-2", {"/d/m-2"}).all_model_checkpoint_paths,
              ElementsAre("/d/m-2"));
}

// CM-4
TEST_F(CheckpointStateTest, PathsAreRewrittenForARelativeDirectory) {
  const CheckpointState state =
      make_checkpoint_state("train", "train/m-2", {"/abs/m-0", "other/m-1", "train/m-2"});
  EXPECT_EQ(state.model_checkpoint_path, "m-2");
  EXPECT_THAT(state.all_model_checkpoint_paths, ElementsAre("/abs/m-0", "../other/m-1", "m-2"));
  EXPECT_EQ(make_checkpoint_state("", "m-2").model_checkpoint_path, "m-2");
  EXPECT_EQ(make_checkpoint_state("./a//b/", "a/b/m-2").model_checkpoint_path, "m-2");
}

TEST_F(CheckpointStateTest, PathsAreUnchangedInAnAbsoluteDirectory) {
  const CheckpointState state = make_checkpoint_state("/train", "/train/m-2", {"m-1"});
  EXPECT_THAT(state.all_model_checkpoint_paths, ElementsAre("m-1", "/train/m-2"));
}

TEST_F(CheckpointStateTest, RelativeModeMakesAbsolutePathsRelative) {
  const CheckpointState state = make_checkpoint_state("/train", "/train/m-2", {"/other/m-0", "m-1"},
                                                      {.save_relative_paths = true});
  EXPECT_THAT(state.all_model_checkpoint_paths, ElementsAre("../other/m-0", "m-1", "m-2"));
}

TEST_F(CheckpointStateTest, RequiresOneTimestampPerPath) {
  EXPECT_THROW(
      make_checkpoint_state("/d", "/d/m-2", {"/d/m-1"}, {.all_model_checkpoint_timestamps = {1.0}}),
      InvalidArgumentError);
  EXPECT_NO_THROW(make_checkpoint_state("/d", "/d/m-2", {"/d/m-1"},
                                        {.all_model_checkpoint_timestamps = {1.0, 2.0}}));
}

TEST_F(CheckpointStateTest, UpdatingAndGettingJoinsThePaths) {
  update_checkpoint_state(files_, "train", "train/m-2", {"train/m-1"});
  EXPECT_THAT(read_file(files_, "train/checkpoint"), HasSubstr("model_checkpoint_path: \"m-2\"\n"));
  const auto state = get_checkpoint_state(files_, "train");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->model_checkpoint_path, "train/m-2");
  EXPECT_THAT(state->all_model_checkpoint_paths, ElementsAre("train/m-1", "train/m-2"));
  EXPECT_THAT(files_.list("train"), ElementsAre("checkpoint"));
}

// CM-9
TEST_F(CheckpointStateTest, JoiningIsTextual) {
  put_file(files_, "train/checkpoint", "model_checkpoint_path: \"./m-2\"");
  EXPECT_EQ(get_checkpoint_state(files_, "train")->model_checkpoint_path, "train/./m-2");
  put_file(files_, "train/checkpoint",
           "model_checkpoint_path: \"./m-2\"\n"
           "all_model_checkpoint_paths: \"./m-1\"\n"
           "all_model_checkpoint_paths: \"./m-2\"\n");
  EXPECT_THAT(get_checkpoint_state(files_, "train")->all_model_checkpoint_paths,
              ElementsAre("train/./m-1", "train/./m-2"));
}

// CM-3
TEST_F(CheckpointStateTest, AnAbsolutePathIsUnchangedAndListedOnce) {
  for (const char* const directory : {"/train", "train"}) {
    const CheckpointState state = make_checkpoint_state(directory, "/train/m-2");
    EXPECT_EQ(state.model_checkpoint_path, "/train/m-2");
    EXPECT_THAT(state.all_model_checkpoint_paths, ElementsAre("/train/m-2"));
  }
}

// CM-6
TEST_F(CheckpointStateTest, MixedPathsRoundTrip) {
  for (const auto& [relative, absolute] :
       {std::pair("train/m-1", "/train/m-2"), std::pair("train/m-2", "/train/m-1")}) {
    for (const std::string newest : {relative, absolute}) {
      const std::string other = newest == relative ? absolute : relative;
      update_checkpoint_state(files_, "train", newest, {other, newest});
      const auto state = get_checkpoint_state(files_, "train");
      EXPECT_EQ(state->model_checkpoint_path, newest);
      EXPECT_THAT(state->all_model_checkpoint_paths, ElementsAre(other, newest));
    }
  }
}

// CM-7
TEST_F(CheckpointStateTest, RelativeModeStoresRelativePathsAndReadsAbsoluteOnes) {
  update_checkpoint_state(files_, "/train", "/train/m-2", {"/train/m-1", "/train/m-2"},
                          {.save_relative_paths = true});
  EXPECT_EQ(read_file(files_, "/train/checkpoint"),
            "model_checkpoint_path: \"m-2\"\n"
            "all_model_checkpoint_paths: \"m-1\"\n"
            "all_model_checkpoint_paths: \"m-2\"\n");
  const auto state = get_checkpoint_state(files_, "/train");
  EXPECT_EQ(state->model_checkpoint_path, "/train/m-2");
  EXPECT_THAT(state->all_model_checkpoint_paths, ElementsAre("/train/m-1", "/train/m-2"));
}

TEST_F(CheckpointStateTest, AnotherFilenameIsAnotherState) {
  update_checkpoint_state(files_, "train", "train/m-2", {}, {.latest_filename = "best"});
  EXPECT_FALSE(get_checkpoint_state(files_, "train"));
  EXPECT_TRUE(get_checkpoint_state(files_, "train", "best"));
}

TEST_F(CheckpointStateTest, RejectsTheStateFileAsACheckpoint) {
  EXPECT_THROW(update_checkpoint_state(files_, "/train", "/train/checkpoint"),
               FailedPreconditionError);
  EXPECT_THROW(update_checkpoint_state(files_, "train", "train/checkpoint"),
               FailedPreconditionError);
}

TEST_F(CheckpointStateTest, AMissingFileYieldsNoStateAndNoWarning) {
  EXPECT_FALSE(get_checkpoint_state(files_, "train"));
  EXPECT_FALSE(get_checkpoint_state(files_, "nowhere"));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(CheckpointStateTest, WarnsOfADamagedFileAndReturnsNoState) {
  put_file(files_, "train/checkpoint", "model_checkpoint_path: \"m-");
  EXPECT_FALSE(get_checkpoint_state(files_, "train"));
  EXPECT_THAT(log_.lines(Severity::kWarning), SizeIs(2));
  EXPECT_TRUE(log_.contains("train/checkpoint: line 1: found the end within a string"));
}

// CM-8
TEST_F(CheckpointStateTest, AStateWithoutANewestPathIsAnInvalidArgument) {
  for (const std::string_view text : {"", "all_model_checkpoint_paths: \"m-1\""}) {
    put_file(files_, "train/checkpoint", text);
    EXPECT_THAT([&] { get_checkpoint_state(files_, "train"); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("train/checkpoint")));
  }
}

TEST_F(CheckpointStateTest, LatestCheckpointIsTheNewestIfItExists) {
  EXPECT_FALSE(latest_checkpoint(files_, "train"));
  update_checkpoint_state(files_, "train", "train/m-2", {"train/m-1"});
  put_file(files_, "train/m-1.index", "");
  EXPECT_FALSE(latest_checkpoint(files_, "train"));
  EXPECT_THAT(log_.lines(Severity::kError), ElementsAre(HasSubstr("train/m-2")));
  put_file(files_, "train/m-2.index", "");
  EXPECT_THAT(latest_checkpoint(files_, "train"), Optional(std::string("train/m-2")));
}

TEST_F(CheckpointStateTest, ACrashLeavesTheOldStateOrTheNew) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    disk.create_directories("train");
    update_checkpoint_state(disk, "train", "train/m-1");
    FailingFileSystem files(disk);
    files.fail_operation(n, Code::kUnknown, Failing::kFromThenOn);
    try {
      update_checkpoint_state(files, "train", "train/m-2", {"train/m-1"});
    } catch (const UnknownError&) {
    }
    disk.power_cut();
    const auto state = get_checkpoint_state(disk, "train");
    ASSERT_TRUE(state) << "operation " << n;
    const bool is_new = state->model_checkpoint_path == "train/m-2";
    EXPECT_THAT(state->all_model_checkpoint_paths, SizeIs(is_new ? 2 : 1));
    if (files.num_failures() > 0) continue;
    EXPECT_TRUE(is_new);
    break;
  }
}

}  // namespace
}  // namespace crochet
