// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "crochet/libtorch/batches.h"

namespace crochet {

// A net with all that makes a resume hard: batch norm, which changes buffers in its forward pass,
// and dropout, which draws random numbers.
struct TestNetImpl : torch::nn::Module {
  TestNetImpl() {
    first = register_module("first", torch::nn::Linear(6, 8));
    norm = register_module("norm", torch::nn::BatchNorm1d(8));
    dropout = register_module("dropout", torch::nn::Dropout(0.25));
    second = register_module("second", torch::nn::Linear(8, 3));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return second(dropout(torch::relu(norm(first(x)))));
  }

  torch::nn::Linear first{nullptr}, second{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Dropout dropout{nullptr};
};
TORCH_MODULE(TestNet);

// A class that crochet does not know.
struct SlowSgdOptions : torch::optim::OptimizerCloneableOptions<SlowSgdOptions> {
  SlowSgdOptions(double lr = 0.1) : lr_(lr) {}  // NOLINT(google-explicit-constructor)
  TORCH_ARG(double, lr);
  TORCH_ARG(double, decay) = 0.5;

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
  double get_lr() const override { return lr(); }
  void set_lr(const double lr) override { this->lr(lr); }
};
struct SlowSgdState : torch::optim::OptimizerCloneableParamState<SlowSgdState> {
  TORCH_ARG(int64_t, step) = 0;
  TORCH_ARG(torch::Tensor, velocity);

 public:
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};
class SlowSgd final : public torch::optim::Optimizer {
 public:
  SlowSgd(const std::vector<torch::Tensor>& parameters, const SlowSgdOptions& options)
      : Optimizer({torch::optim::OptimizerParamGroup(parameters)},
                  std::make_unique<SlowSgdOptions>(options)) {}

  torch::Tensor step(LossClosure closure = nullptr) override;
  void save(torch::serialize::OutputArchive& archive) const override;
  void load(torch::serialize::InputArchive& archive) override;
};

// The classes of LibTorch in several variants, and SlowSgd.
const std::vector<std::string>& all_optimizers();
std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const std::string& kind, const std::vector<torch::Tensor>& parameters);

// 40 examples of 6 numbers with labels from 0 to 2, always the same.
class TestData {
 public:
  TestData();
  torch::data::Example<> get_batch(const std::vector<size_t>& indices) const;
  size_t size() const { return 40; }

 private:
  torch::Tensor x_, y_;
};

// A training from its first step. Draws from LibTorch's generator.
struct TestTraining {
  explicit TestTraining(const std::string& kind);
  void step();

  const std::string kind;
  TestNet net;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  torch::optim::StepLR schedule;
  libtorch::Batches<TestData> batches;
  torch::Tensor loss;
};

}  // namespace crochet
