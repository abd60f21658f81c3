// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include "crochet/libtorch/internal/parameter_names.h"

namespace crochet::inline v0::libtorch::internal {

// A parameter of an optimizer.
struct OptimizerParameter {
  at::Tensor tensor;
  // The one under which a tracked module saves it, otherwise its place among all parameters.
  std::string name;
  size_t group = 0;
};

// Each parameter once, in the optimizer's order.
std::vector<OptimizerParameter> parameters_of(const torch::optim::Optimizer& optimizer,
                                              const ParameterNames& names);

// Null if the parameter has no state yet.
torch::optim::OptimizerParamState* state_of(torch::optim::Optimizer& optimizer,
                                            const at::Tensor& parameter);
void set_state(torch::optim::Optimizer& optimizer, const at::Tensor& parameter,
               std::unique_ptr<torch::optim::OptimizerParamState> state);
void remove_state(torch::optim::Optimizer& optimizer, const at::Tensor& parameter);

}  // namespace crochet::inline v0::libtorch::internal
