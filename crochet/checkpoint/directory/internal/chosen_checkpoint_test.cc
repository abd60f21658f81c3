// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/chosen_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using internal::chosen_checkpoint;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ChosenCheckpointTest : public testing::Test {
 protected:
  ChosenCheckpointTest() { files_.create_directories("run"); }

  void write(const std::string& prefix, const std::map<std::string, double>& metrics = {},
             const std::map<std::string, Better>& better = {}) {
    internal::BundleWriter writer(files_, prefix);
    writer.add("w", Tensor::scalar(1.0f));
    writer.finish();
    write_sidecar(files_, prefix, {.unix_time = 1, .metrics = metrics, .better = better});
  }
  std::string chosen(const CheckpointChoice& which, const std::string& path = "run") {
    return chosen_checkpoint(files_, path, which);
  }

  MemoryFileSystem files_;
};

TEST_F(ChosenCheckpointTest, IsTheOneWithTheStep) {
  write("run/m-5");
  write("run/m-20");
  EXPECT_EQ(chosen(CheckpointChoice::newest()), "run/m-20");
  EXPECT_EQ(chosen(CheckpointChoice::at_step(5)), "run/m-5");
  EXPECT_THAT([&] { chosen(CheckpointChoice::at_step(6)); },
              ThrowsMessage<NotFoundError>("run: no checkpoint of step 6; found m-5, m-20"));
}

TEST_F(ChosenCheckpointTest, IsTheBestByAMetric) {
  write("run/m-1", {{"loss", 2}});
  write("run/m-2", {{"loss", 1}});
  write("run/m-3", {{"loss", 1}});
  write("run/m-4", {{"loss", std::nan("")}});
  write("run/m-5");
  EXPECT_EQ(chosen(CheckpointChoice::best("loss", Better::kLower)), "run/m-3")
      << "the newest of them";
  EXPECT_EQ(chosen(CheckpointChoice::best("loss", Better::kHigher)), "run/m-1");
  EXPECT_THAT([&] { chosen(CheckpointChoice::best("accuracy")); },
              ThrowsMessage<NotFoundError>(
                  "run: none of its 5 checkpoints has a metric \"accuracy\"; found loss"));
}

TEST_F(ChosenCheckpointTest, TheRunSaysWhatIsBetter) {
  write("run/m-1", {{"loss", 2}});
  write("run/m-2", {{"loss", 1}});
  EXPECT_THAT([&] { chosen(CheckpointChoice::best("loss")); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("use CheckpointChoice::best(\"loss\", Better::kHigher), or kLower")));
  write("run/m-3", {}, {{"loss", Better::kHigher}});
  EXPECT_EQ(chosen(CheckpointChoice::best("loss")), "run/m-1");
  EXPECT_EQ(chosen(CheckpointChoice::best("loss", Better::kLower)), "run/m-2");
}

TEST_F(ChosenCheckpointTest, TheStateFileChoosesAmongBasenames) {
  write("run/a-9");
  write("run/b-1");
  EXPECT_THAT(
      [&] { chosen(CheckpointChoice::newest()); },
      ThrowsMessage<InvalidArgumentError>("run: found several checkpoints, name one: a-9, b-1"));
  update_checkpoint_state(files_, "run", "run/b-1");
  EXPECT_EQ(chosen(CheckpointChoice::newest()), "run/b-1");
  EXPECT_THROW(chosen(CheckpointChoice::at_step(9)), NotFoundError) << "it is of another run";
}

TEST_F(ChosenCheckpointTest, APathOfOneCheckpointLeavesNoChoice) {
  write("run/m-1");
  EXPECT_EQ(chosen(CheckpointChoice::newest(), "run/m-1.index"), "run/m-1");
  EXPECT_THAT(
      [&] { chosen(CheckpointChoice::at_step(1), "run/m-1"); },
      ThrowsMessage<InvalidArgumentError>(
          "run/m-1: found a single checkpoint, where the checkpoint of step 1 of a directory "
          "is requested"));
}

TEST(CheckpointChoiceTest, IsDescribed) {
  EXPECT_EQ(to_string(CheckpointChoice::newest()), "the newest checkpoint");
  EXPECT_EQ(to_string(CheckpointChoice::at_step(12)), "the checkpoint of step 12");
  EXPECT_EQ(to_string(CheckpointChoice::best("loss")), "the checkpoint with the best loss");
  EXPECT_EQ(to_string(CheckpointChoice::best("loss", Better::kLower)),
            "the checkpoint with the lowest loss");
  EXPECT_THROW(CheckpointChoice::at_step(-1), InvalidArgumentError);
  EXPECT_THROW(CheckpointChoice::best(""), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
