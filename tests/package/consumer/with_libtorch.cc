// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains a line with LibTorch, is ended, and continues with other objects.
#include <cstdio>
#include <string>

#include <crochet/crochet.h>
#include <crochet/libtorch/batches.h>
#include <crochet/libtorch/track.h>
#include <torch/torch.h>

namespace {

struct Line : torch::data::Dataset<Line> {
  torch::data::Example<> get(size_t index) override {
    const torch::Tensor x = torch::full({1}, static_cast<float>(index) / 10);
    return {x, 3 * x + 1};
  }
  torch::optional<size_t> size() const override { return 10; }
};

float train(const std::string& directory, int64_t last_step) {
  torch::nn::Linear net(1, 1);
  torch::optim::Adam adam(net->parameters(), 0.05);
  crochet::libtorch::Batches batches(Line().map(torch::data::transforms::Stack<>()),
                                     {.batch_size = 4});
  torch::Tensor loss;
  crochet::Loop loop({.checkpoint = {.dir = directory},
                      .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  crochet::libtorch::track_all(loop, {.model = net, .optimizer = adam, .batches = batches});
  loop.scalar("loss", [&] { return loss; });
  loop.run([&] {
    const auto [x, y] = batches.next();
    adam.zero_grad();
    loss = torch::mse_loss(net->forward(x), y);
    loss.backward();
    adam.step();
  });
  return loss.item<float>();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  torch::manual_seed(1);
  const float whole = train(std::string(argv[1]) + "/whole", 20);
  torch::manual_seed(1);
  train(std::string(argv[1]) + "/ended", 7);
  torch::manual_seed(2);
  const float resumed = train(std::string(argv[1]) + "/ended", 20);
  std::printf("loss %g in one piece, %g resumed\n", whole, resumed);
  return whole == resumed ? 0 : 1;
}
