// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/optim.h>

#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"

namespace crochet::inline v0::libtorch {
namespace {

// Empty if no parameter has a gradient.
std::optional<double> gradient_norm(const torch::optim::Optimizer& optimizer) {
  const at::NoGradGuard no_grad;
  // One number for each device, so that each is waited for once.
  std::vector<std::pair<at::Device, at::Tensor>> sums;
  for (const auto& group : optimizer.param_groups())
    for (const at::Tensor& parameter : group.params()) {
      const at::Tensor& gradient = parameter.grad();
      if (!gradient.defined()) continue;
      const at::Tensor values = gradient.is_sparse() ? gradient.coalesce().values() : gradient;
      const at::Tensor square = at::norm(values.to(at::kFloat)).to(at::kDouble).square();
      const auto found = std::find_if(sums.begin(), sums.end(), [&](const auto& sum) {
        return sum.first == gradient.device();
      });
      if (found == sums.end()) {
        sums.emplace_back(gradient.device(), square);
      } else {
        found->second.add_(square);
      }
    }
  if (sums.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [device, square] : sums) sum += square.item<double>();
  return std::sqrt(sum);
}

}  // namespace

void add_scalars(Loop& loop, torch::optim::Optimizer& optimizer, const std::string& prefix) {
  const size_t num_groups = optimizer.param_groups().size();
  for (size_t i = 0; i < num_groups; ++i)
    loop.scalar(prefix + (num_groups == 1 ? "learning_rate" : fmt::format("learning_rate/{}", i)),
                [&optimizer, i] { return optimizer.param_groups().at(i).options().get_lr(); });
  loop.scalar(prefix + "gradient_norm", [&optimizer] { return gradient_norm(optimizer); });
}

}  // namespace crochet::inline v0::libtorch
