// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/named_tensors.h"

#include <unordered_set>

#include <torch/nn/module.h>

namespace crochet::inline v0::libtorch::internal {
namespace {

std::vector<NamedTensor> distinct(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  std::vector<NamedTensor> result;
  std::unordered_set<const at::TensorImpl*> known;
  for (const auto& item : tensors)
    if (item.value().defined() && known.insert(item.value().unsafeGetTensorImpl()).second)
      result.push_back({item.key(), item.value()});
  return result;
}

}  // namespace

std::vector<NamedTensor> parameters_of(const torch::nn::Module& module) {
  return distinct(module.named_parameters());
}

std::vector<NamedTensor> buffers_of(const torch::nn::Module& module) {
  return distinct(module.named_buffers());
}

}  // namespace crochet::inline v0::libtorch::internal
