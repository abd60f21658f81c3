// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes the weights of a module, or reads them, and prints them for check_weights.py.
//
//   libtorch_weights write|read <file>
#include <string>

#include <torch/torch.h>

#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/weights.h"
#include "tests/interop/interop_tensors.h"

using namespace crochet;

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl() {
    register_module("convolutions",
                    torch::nn::Sequential(torch::nn::Conv2d(1, 3, 3), torch::nn::BatchNorm2d(3)));
    auto fc = register_module("fc", torch::nn::Linear(3, 2));
    register_parameter("tied", fc->weight);
    register_buffer("halves", torch::rand({2, 2}).to(torch::kHalf));
    register_buffer("flags", torch::tensor({true, false}));
  }

  nlohmann::json contents() const {
    nlohmann::json contents;
    for (const auto& item : named_parameters())
      contents[item.key()] = expectation(libtorch::to_tensor(item.value()));
    for (const auto& item : named_buffers())
      contents[item.key()] = expectation(libtorch::to_tensor(item.value()));
    return contents;
  }
};
TORCH_MODULE(Net);

}  // namespace

int main(int, char** argv) {
  const std::string action = argv[1], path = argv[2];
  Net net;
  if (action == "write")
    libtorch::save_weights(*net, path);
  else
    libtorch::load_weights(*net, path);
  fmt::print("{}\n", net->contents().dump());
}
