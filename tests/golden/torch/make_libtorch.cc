// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes what LibTorch writes for a module, into the directory of the argument. Its optimizer took
// a step, so that no tensor has only initial values.
#include <string>

#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(3, 2));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(2));
  torch::nn::Sequential head =
      register_module("head", torch::nn::Sequential(torch::nn::Linear(2, 2)));
};
TORCH_MODULE(Net);

int main(int, char** argv) {
  const std::string directory = argv[1];
  torch::manual_seed(7);
  Net net;
  torch::optim::Adam adam(net->parameters(), 0.125);
  net->head->forward(net->norm(net->fc(torch::ones({4, 3})))).sum().backward();
  adam.step();
  torch::save(net, directory + "/libtorch_module.pt");
}
