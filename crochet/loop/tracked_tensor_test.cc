// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A tracked tensor whose elements are written through a span that was taken before the loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

constexpr int64_t kSize = 100'000;
constexpr size_t kElement = 12'345;  // Which no sample of the elements shows.

class TrackedTensorTest : public testing::Test {
 protected:
  LoopOptions options(int64_t last_step) {
    return {.checkpoint = {.dir = "run", .every_steps = 1, .saver = {.max_to_keep = 0}},
            .summaries = {.count_every_steps = 0},
            .hooks = {StopAtStepHook({.last_step = last_step})},
            .files = &files_};
  }
  void train(LoopOptions options, Tensor& tensor, const std::function<void(Step&)>& body) {
    Loop loop(std::move(options));
    loop.track("w", tensor);
    loop.run(body);
  }
  Tensor stored(const std::string& name, int64_t step) {
    return CheckpointReader("run/model.ckpt-" + std::to_string(step), files_).read(name);
  }
  void expect_each_has_its_step(int64_t last_step) {
    for (int64_t step = 0; step <= last_step; ++step) {
      const Tensor tensor = stored("w", step);
      EXPECT_EQ(tensor.flat<float>()[kElement], static_cast<float>(step)) << step;
    }
  }

  LogCapture log_;
  MemoryFileSystem files_;
};

TEST_F(TrackedTensorTest, IsSavedAsASpanHasWrittenIt) {
  for (const bool checks : {false, true}) {
    Tensor tensor = Tensor::zeros<float>({kSize});
    const std::span<float> values = tensor.mutable_flat<float>();
    LoopOptions with = options(9);
    with.debug.check_torn_snapshots = checks;
    train(std::move(with), tensor,
          [&](Step& step) { values[kElement] = static_cast<float>(step.number()); });
    expect_each_has_its_step(9);
    for (const std::string& name : files_.list("run")) files_.remove("run/" + name);
  }
}

// In a container it is captured by another path.
TEST_F(TrackedTensorTest, IsSavedAsASpanHasWrittenItInAContainer) {
  std::vector<Tensor> tensors = {Tensor::zeros<float>({kSize})};
  const std::span<float> values = tensors[0].mutable_flat<float>();
  Loop loop(options(9));
  loop.track("w", tensors);
  loop.run([&](Step& step) { values[kElement] = static_cast<float>(step.number()); });
  for (int64_t step = 0; step <= 9; ++step) {
    const Tensor tensor = stored("w/0", step);
    EXPECT_EQ(tensor.flat<float>()[kElement], static_cast<float>(step)) << step;
  }
}

TEST_F(TrackedTensorTest, KeepsItsMemoryInARestore) {
  for (const int64_t last_step : {5, 9}) {
    Tensor tensor = Tensor::zeros<float>({kSize});
    const std::span<float> values = tensor.mutable_flat<float>();
    train(options(last_step), tensor, [&](Step& step) {
      EXPECT_EQ(values.data(), tensor.flat<float>().data());
      EXPECT_EQ(values[kElement], static_cast<float>(step.number() - 1));
      values[kElement] = static_cast<float>(step.number());
    });
  }
  expect_each_has_its_step(9);
}

TEST_F(TrackedTensorTest, KeepsTheMemoryOfStringsInARestore) {
  for (const int64_t last_step : {2, 4}) {
    Tensor tensor = Tensor::from({"a", "b"});
    const std::span<std::string> values = tensor.mutable_strings();
    train(options(last_step), tensor, [&](Step&) { values[1] += "b"; });
    EXPECT_EQ(tensor.strings()[1], std::string(static_cast<size_t>(last_step) + 1, 'b'));
    EXPECT_EQ(values.data(), tensor.strings().data());
  }
}

TEST_F(TrackedTensorTest, LogsThatSpansMustBeTakenAgain) {
  Tensor first = Tensor::zeros<float>({kSize});
  train(options(1), first, [](Step&) {});
  Tensor other = Tensor::zeros<float>({3, 3});
  train(options(1), other, [](Step&) {});
  EXPECT_EQ(other.shape(), Shape({kSize}));
  EXPECT_FALSE(log_.contains("is restored in other memory"));  // No span was taken.
  Tensor exposed = Tensor::zeros<float>({3, 3});
  exposed.mutable_flat<float>();
  train(options(1), exposed, [](Step&) {});
  EXPECT_TRUE(
      log_.contains("tensor \"w\" is restored in other memory, with the shape [100000] "
                    "instead of [3,3]: spans of it must be taken again"));
  // A copy never changes.
  Tensor with_copy = Tensor::zeros<float>({kSize});
  with_copy.mutable_flat<float>()[0] = 7;
  const Tensor copy = with_copy;
  train(options(1), with_copy, [](Step&) {});
  EXPECT_TRUE(log_.contains("because a copy of it shares its memory"));
  EXPECT_EQ(copy.flat<float>()[0], 7);
  EXPECT_EQ(with_copy.flat<float>()[0], 0);
}

}  // namespace
}  // namespace crochet
