// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Layers that are not trained are written once: the barrier knows that nothing was written to them.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

struct FineTuned : torch::nn::Module {
  FineTuned() {
    frozen = register_module("frozen", torch::nn::Linear(256, 256));
    head = register_module("head", torch::nn::Linear(256, 4));
    for (torch::Tensor& parameter : frozen->parameters()) parameter.set_requires_grad(false);
  }
  torch::Tensor forward(const torch::Tensor& x) { return head->forward(frozen->forward(x)); }

  torch::nn::Linear frozen = nullptr;
  torch::nn::Linear head = nullptr;
};

class FrozenLayersTest : public testing::Test {
 protected:
  // Trains, and saves each step; `change` is called in each step, with its number.
  void train(const std::function<void(int64_t step)>& change) {
    torch::optim::Adam adam(head_parameters());
    Loop loop({.checkpoint = {.dir = "run", .every_steps = 1, .saver = {.max_to_keep = 0}},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = kLastStep})},
               .files = &files_});
    libtorch::track_all(loop, {.model = *net_, .optimizer = adam});
    loop.run([&](Step& step) {
      adam.zero_grad();
      net_->forward(torch::ones({8, 256})).sum().backward();
      adam.step();
      change(step.number());
      values_[step.number()] = libtorch::to_tensor(net_->frozen->weight);
    });
  }
  std::vector<torch::Tensor> head_parameters() const { return net_->head->parameters(); }
  void expect_right_checkpoints() {
    for (int64_t step = 1; step <= kLastStep; ++step)
      EXPECT_EQ(CheckpointReader(prefix(step), files_).read("model/frozen.weight"), values_[step])
          << step;
  }
  uint64_t shared_bytes(int64_t step) { return read_sidecar(files_, prefix(step))->shared_bytes; }
  static std::string prefix(int64_t step) { return "run/model.ckpt-" + std::to_string(step); }

  static constexpr int64_t kLastStep = 5;
  static constexpr uint64_t kFrozenBytes = 256 * 256 * sizeof(float);
  MemoryFileSystem files_;
  std::shared_ptr<FineTuned> net_ = std::make_shared<FineTuned>();
  std::map<int64_t, Tensor> values_;
};

// From the second checkpoint on: if they were compared by checksums, it would be the third. Every
// fourth checkpoint is written whole.
TEST_F(FrozenLayersTest, AreWrittenOnce) {
  train([](int64_t) {});
  for (int64_t step = 0; step <= kLastStep; ++step)
    if (step % 4 == 0)
      EXPECT_EQ(shared_bytes(step), 0) << step;
    else
      EXPECT_GE(shared_bytes(step), kFrozenBytes) << step;
  expect_right_checkpoints();
}

TEST_F(FrozenLayersTest, AreWrittenAgainAfterAnyWrite) {
  train([&](int64_t step) {
    const torch::NoGradGuard no_grad;
    torch::Tensor& weight = net_->frozen->weight;
    if (step == 2) weight[3][4] = 7;  // One element.
    if (step == 3) weight.copy_(torch::full({256, 256}, 3.0));
    if (step == 4) {
      libtorch::before_raw_write(weight);
      weight.data_ptr<float>()[12345] = 4;
    }
  });
  for (int64_t step = 2; step <= 4; ++step) EXPECT_EQ(shared_bytes(step), 0) << step;
  EXPECT_GE(shared_bytes(5), kFrozenBytes);
  expect_right_checkpoints();
}

// Memory that replaces the layer's is filled without an announcement.
TEST_F(FrozenLayersTest, AreWrittenAgainInOtherMemory) {
  train([&](int64_t step) {
    if (step % 2 == 0)
      net_->frozen->weight.set_data(torch::full({256, 256}, static_cast<float>(step)));
  });
  expect_right_checkpoints();
}

TEST_F(FrozenLayersTest, AreWrittenAgainAfterARestore) {
  train([](int64_t) {});
  for (torch::Tensor& parameter : net_->frozen->parameters()) parameter.data().zero_();
  torch::optim::Adam adam(head_parameters());
  Loop loop({.checkpoint = {.dir = "run", .every_steps = 1},
             .summaries = {.every_steps = 0},
             .hooks = {StopAtStepHook({.last_step = kLastStep + 2})},
             .files = &files_});
  libtorch::track_all(loop, {.model = *net_, .optimizer = adam});
  loop.run([&] {});
  EXPECT_EQ(CheckpointReader(prefix(kLastStep + 2), files_).read("model/frozen.weight"),
            values_[kLastStep]);
}

}  // namespace
}  // namespace crochet
