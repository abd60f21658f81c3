// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace crochet::inline v0::libtorch::internal {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

// The parameters of a module, or its buffers, in their order. Each tensor once, under its first
// name: LibTorch has a shared one under every name.
std::vector<NamedTensor> parameters_of(const torch::nn::Module& module);
std::vector<NamedTensor> buffers_of(const torch::nn::Module& module);

}  // namespace crochet::inline v0::libtorch::internal
