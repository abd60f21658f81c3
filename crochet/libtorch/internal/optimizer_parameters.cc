// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/optimizer_parameters.h"

#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

namespace crochet::inline v0::libtorch::internal {
namespace {

using States = std::remove_reference_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;

// LibTorch 1.13 has the address as a text, as a stream prints it.
template <typename Key = States::key_type>
Key key_of(const at::Tensor& parameter) {
  at::TensorImpl* const address = parameter.unsafeGetTensorImpl();
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << address;
    return text.str();
  } else {
    return address;
  }
}

}  // namespace

std::vector<OptimizerParameter> parameters_of(const torch::optim::Optimizer& optimizer,
                                              const ParameterNames& names) {
  std::vector<OptimizerParameter> parameters;
  std::set<const at::TensorImpl*> known;
  size_t place = 0;
  for (size_t group = 0; group < optimizer.param_groups().size(); ++group)
    for (const at::Tensor& tensor : optimizer.param_groups()[group].params()) {
      if (known.insert(tensor.unsafeGetTensorImpl()).second) {
        std::string name = names.find(tensor);
        if (name.empty()) name = std::to_string(place);
        parameters.push_back({tensor, std::move(name), group});
      }
      ++place;
    }
  return parameters;
}

torch::optim::OptimizerParamState* state_of(torch::optim::Optimizer& optimizer,
                                            const at::Tensor& parameter) {
  const auto found = optimizer.state().find(key_of(parameter));
  return found == optimizer.state().end() ? nullptr : found->second.get();
}

void set_state(torch::optim::Optimizer& optimizer, const at::Tensor& parameter,
               std::unique_ptr<torch::optim::OptimizerParamState> state) {
  optimizer.state()[key_of(parameter)] = std::move(state);
}

void remove_state(torch::optim::Optimizer& optimizer, const at::Tensor& parameter) {
  optimizer.state().erase(key_of(parameter));
}

}  // namespace crochet::inline v0::libtorch::internal
