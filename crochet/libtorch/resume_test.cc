// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trainings that are ended and resumed compute the same bits as those in one piece.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/libtorch/test_training.h"

namespace crochet {
namespace {

// The elements of all values of a checkpoint, by name.
std::map<std::string, std::vector<std::byte>> contents_of(FileSystem& files,
                                                          const std::string& prefix) {
  std::map<std::string, std::vector<std::byte>> contents;
  const CheckpointReader reader(prefix, files);
  for (const auto& [name, info] : reader.tensors()) {
    const Tensor value = reader.read(name);
    if (value.dtype() == DType::kString) {
      for (const std::string& text : value.strings())
        for (const char c : text) contents[name].push_back(static_cast<std::byte>(c));
    } else {
      const auto bytes = value.bytes();
      contents[name].assign(bytes.begin(), bytes.end());
    }
  }
  return contents;
}

class ResumeTest : public testing::TestWithParam<std::string> {
 protected:
  // Makes the steps up to `last_step` in `directory`, with new objects. Returns the last loss.
  float train(const std::string& directory, int64_t last_step, uint64_t seed) {
    torch::manual_seed(seed);
    TestTraining training(GetParam());
    Loop loop({.checkpoint = {.dir = directory, .every_steps = 2},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = last_step})},
               .files = &files_});
    libtorch::track_all(loop, {.model = training.net,
                               .optimizer = *training.optimizer,
                               .scheduler = training.schedule,
                               .batches = training.batches});
    loop.run([&] { training.step(); });
    return training.loss.defined() ? training.loss.item<float>() : 0;
  }

  LogCapture log_;
  MemoryFileSystem files_;
};

INSTANTIATE_TEST_SUITE_P(, ResumeTest, testing::ValuesIn(all_optimizers()), [](const auto& info) {
  std::string name;
  for (const char c : info.param)
    if (isalnum(c)) name += c;
  return name;
});

TEST_P(ResumeTest, IsExactToTheBitAtEachOfTheFirstSteps) {
  constexpr int64_t kLast = 9;
  const float loss = train("whole", kLast, 1);
  const auto whole = contents_of(files_, "whole/model.ckpt-9");
  ASSERT_GT(whole.size(), 10U);
  for (int64_t step = 1; step < kLast; ++step) {
    const std::string directory = "ended-" + std::to_string(step);
    train(directory, step, 1);
    EXPECT_EQ(train(directory, kLast, 2), loss) << "ended at step " << step;
    EXPECT_EQ(contents_of(files_, directory + "/model.ckpt-9"), whole) << "ended at step " << step;
  }
}

TEST_P(ResumeTest, DiffersIfTheStateOfTheOptimizerIsLeftOut) {
  if (GetParam() == "SGD") GTEST_SKIP() << "has no state but its options";
  const float loss = train("whole", 9, 1);
  train("ended", 5, 1);
  torch::manual_seed(2);
  TestTraining training(GetParam());
  Loop loop({.restore = {.from = "ended", .allow_missing = true, .allow_surplus = true},
             .hooks = {StopAtStepHook({.last_step = 9})},
             .files = &files_});
  libtorch::track_all(
      loop, {.model = training.net, .scheduler = training.schedule, .batches = training.batches});
  loop.run([&] { training.step(); });
  EXPECT_NE(training.loss.item<float>(), loss);
}

}  // namespace
}  // namespace crochet
