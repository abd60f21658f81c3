// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// No snapshot is torn by an optimizer's writes.
#include "crochet/libtorch/write_fence.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/test_training.h"
#include "crochet/libtorch/track_all.h"
#include "crochet/run/loop.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

// Its gate stops the threads that copy in the background.
class LateFence : public libtorch::OperatorFence {
 public:
  explicit LateFence(bool announces) : announces_(announces) {}

  void close() { open_ = false; }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  bool is_raised() const { return is_raised_; }

 private:
  void raise() override {
    is_raised_ = true;
    if (announces_) OperatorFence::raise();
  }
  void lower() noexcept override {
    if (announces_) OperatorFence::lower();
    is_raised_ = false;
  }
  void copy(const local::ArrayView& array, std::byte* to, size_t begin, size_t end) override {
    if (std::this_thread::get_id() != training_) open_.wait(false);
    OperatorFence::copy(array, to, begin, end);
  }

  const bool announces_;
  const std::thread::id training_ = std::this_thread::get_id();
  std::atomic<bool> open_ = false;
  bool is_raised_ = false;
};

// Has a graph use a fence, if it is tracked first.
struct FenceForGraph {
  void track(Tracker& tracker) { tracker.graph().attach(fence); }
  std::shared_ptr<libtorch::OperatorFence> fence;
};

constexpr int64_t kLastStep = 5;

// Closes the gate before a snapshot is taken, if a step follows.
class ClosingListener final : public CheckpointSaverListener {
 public:
  explicit ClosingListener(std::shared_ptr<LateFence> fence) : fence_(std::move(fence)) {}
  void before_save(Session&, int64_t step) override {
    if (step < kLastStep) fence_->close();
  }

 private:
  const std::shared_ptr<LateFence> fence_;
};

// Parameters of 16 KiB: smaller ones are copied at once.
torch::nn::Sequential make_net() {
  return torch::nn::Sequential(torch::nn::Linear(64, 64), torch::nn::BatchNorm1d(64),
                               torch::nn::ReLU(), torch::nn::Linear(64, 64));
}

using Bytes = std::vector<std::byte>;
Bytes bytes_of(const Tensor& tensor) { return {tensor.bytes().begin(), tensor.bytes().end()}; }

class OperatorFenceTest : public testing::TestWithParam<std::string> {
 protected:
  // Saves after each step. Returns how many parameters have, in a checkpoint,
  // other values than they had when the step that follows began.
  int count_torn(bool announces) {
    torch::manual_seed(3);
    torch::nn::Sequential net = make_net();
    const auto optimizer = make_optimizer(GetParam(), net->parameters());
    fence_ = std::make_shared<LateFence>(announces);
    FenceForGraph first{fence_};
    Loop loop({.checkpoint_dir = "run",
               .save_checkpoint_steps = 1,
               .saving_listeners = {std::make_shared<ClosingListener>(fence_)},
               .save_summaries_steps = 0,
               .log_step_count_steps = 0,
               .hooks = {StopAtStepHook({.last_step = kLastStep})},
               .files = &files_});
    loop.track("fence", first);
    loop.track("net", net);
    loop.track("optimizer", *optimizer);
    std::map<std::string, Bytes> expected;  // By "<step>/<name>".
    loop.run([&](Step& step) {
      for (const auto& item : net->named_parameters())
        expected[std::to_string(step.number() - 1) + "/net/" + item.key()] =
            bytes_of(libtorch::to_tensor(item.value()));
      const auto closure = [&] {
        optimizer->zero_grad();
        torch::Tensor loss = net->forward(torch::randn({16, 64})).square().mean();
        loss.backward();
        return loss;
      };
      closure();
      // A thread that has begun a copy must end it before the step may write.
      if (announces) fence_->open();
      optimizer->step(closure);
      fence_->open();
    });
    int num_torn = 0;
    for (const auto& [key, bytes] : expected) {
      const size_t slash = key.find('/');
      if (key.starts_with("0/")) continue;
      const CheckpointReader reader("run/model.ckpt-" + key.substr(0, slash), files_);
      if (bytes_of(reader.read(key.substr(slash + 1))) != bytes) ++num_torn;
    }
    return num_torn;
  }

  std::shared_ptr<LateFence> fence_;
  MemoryFileSystem files_;
};

INSTANTIATE_TEST_SUITE_P(, OperatorFenceTest, testing::ValuesIn(all_optimizers()),
                         [](const auto& info) {
                           std::string name;
                           for (const char c : info.param)
                             if (isalnum(c)) name += c;
                           return name;
                         });

TEST_P(OperatorFenceTest, KeepsSnapshotsWholeThoughTheCopiesAreLate) {
  EXPECT_EQ(count_torn(true), 0);
  EXPECT_FALSE(fence_->is_raised());
}

TEST_P(OperatorFenceTest, IsNeededForThat) { EXPECT_GT(count_torn(false), 0); }

// Writes each step's number to a parameter by raw pointer, and saves it. Returns how many
// checkpoints have another one.
int count_torn_by_pointer(bool announces) {
  MemoryFileSystem files;
  torch::nn::Linear net(64, 64);
  const auto fence = std::make_shared<LateFence>(true);
  FenceForGraph first{fence};
  Loop loop({.checkpoint_dir = "run",
             .save_checkpoint_steps = 1,
             .saving_listeners = {std::make_shared<ClosingListener>(fence)},
             .save_summaries_steps = 0,
             .log_step_count_steps = 0,
             .hooks = {StopAtStepHook({.last_step = kLastStep})},
             .files = &files});
  loop.track("fence", first);
  loop.track("net", net);
  loop.run([&](Step& step) {
    if (announces) {
      fence->open();
      libtorch::before_raw_write(net->weight);
    }
    std::fill_n(net->weight.data_ptr<float>(), net->weight.numel(),
                static_cast<float>(step.number()));
    fence->open();
  });
  int num_torn = 0;
  for (int64_t step = 1; step <= kLastStep; ++step) {
    const CheckpointReader reader("run/model.ckpt-" + std::to_string(step), files);
    const Tensor expected =
        libtorch::to_tensor(torch::full({64, 64}, static_cast<float>(step), torch::kFloat));
    if (reader.read("net/weight") != expected) ++num_torn;
  }
  return num_torn;
}

TEST(BeforeRawWriteTest, KeepsSnapshotsWhole) { EXPECT_EQ(count_torn_by_pointer(true), 0); }

TEST(BeforeRawWriteTest, IsNeededForThat) { EXPECT_GT(count_torn_by_pointer(false), 0); }

}  // namespace
}  // namespace crochet
