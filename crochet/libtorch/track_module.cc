// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/nn.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/io/path.h"
#include "crochet/libtorch/named_tensors.h"
#include "crochet/libtorch/parameter_names.h"
#include "crochet/libtorch/track.h"
#include "crochet/libtorch/tracked_tensor.h"
#include "crochet/libtorch/write_fence.h"

namespace crochet::inline v0 {
namespace {

using NamedTensors = std::vector<libtorch::NamedTensor>;

// True if the member is not the tensor that is registered under its name.
bool is_replaced(const torch::nn::Module& module, const char* name, const at::Tensor& member) {
  const at::Tensor* const registered = module.named_parameters(/*recurse=*/false).find(name);
  return registered != nullptr && !member.is_same(*registered);
}

// The name of a member that was assigned to, for modules of the class; otherwise null.
template <typename Module>
const char* assigned_member_of(const torch::nn::Module& module) {
  const auto* const own = internal::dynamic_as<const Module>(&module);
  if (own == nullptr) return nullptr;
  if (is_replaced(module, "weight", own->weight)) return "weight";
  if constexpr (requires { own->bias; })
    if (is_replaced(module, "bias", own->bias)) return "bias";
  return nullptr;
}

template <typename... Modules>
const char* assigned_member_of_any(const torch::nn::Module& module) {
  const char* found = nullptr;
  static_cast<void>(((found = assigned_member_of<Modules>(module)) || ...));
  return found;
}

// Throws: FailedPreconditionError if a module of LibTorch's computes with another tensor than the
// one that is registered, because its member was assigned to. Of a program's own modules, the
// members are not known.
void check_members(const torch::nn::Module& module, const std::string& name) {
  using namespace torch::nn;
  const char* const member =
      assigned_member_of_any<LinearImpl, BilinearImpl, EmbeddingImpl, EmbeddingBagImpl, Conv1dImpl,
                             Conv2dImpl, Conv3dImpl, ConvTranspose1dImpl, ConvTranspose2dImpl,
                             ConvTranspose3dImpl, BatchNorm1dImpl, BatchNorm2dImpl, BatchNorm3dImpl,
                             InstanceNorm1dImpl, InstanceNorm2dImpl, InstanceNorm3dImpl,
                             LayerNormImpl, GroupNormImpl, PReLUImpl>(module);
  if (member != nullptr)
    throw FailedPreconditionError(fmt::format(
        "module \"{}\" computes with a tensor that was assigned to its member {}, which is not its "
        "registered parameter: assign to parameters with copy_() or set_data()",
        name, member));
  for (const auto& child : module.named_children())
    check_members(*child.value(), join_path(name, child.key()));
}

// Throws: FailedPreconditionError if the module has other parameters than those that are tracked.
void check_unchanged(const torch::nn::Module& module, const NamedTensors& tracked,
                     const std::string& name) {
  const NamedTensors present = libtorch::parameters_of(module);
  const auto has = [](const NamedTensors& tensors, const auto& wanted) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const auto& entry) {
      return entry.name == wanted.name && entry.tensor.is_same(wanted.tensor);
    });
  };
  const auto check_in = [&](const NamedTensors& tensors, const NamedTensors& others) {
    for (const auto& entry : tensors)
      if (!has(others, entry))
        throw FailedPreconditionError(fmt::format(
            "parameter \"{}\" of a module was added, removed or replaced after the module was "
            "tracked; track modules once they are complete, and assign to parameters with copy_() "
            "or set_data()",
            join_path(name, entry.name)));
  };
  if (std::equal(present.begin(), present.end(), tracked.begin(), tracked.end(),
                 [](const auto& a, const auto& b) {
                   return a.name == b.name && a.tensor.is_same(b.tensor);
                 }))
    return;
  check_in(present, tracked);
  check_in(tracked, present);
}

}  // namespace

void track(Tracker& tracker, torch::nn::Module& module) {
  const auto names = libtorch::ParameterNames::of(tracker.graph());
  const auto fence = libtorch::OperatorFence::of(tracker.graph());
  NamedTensors parameters = libtorch::parameters_of(module);
  for (const auto& [name, parameter] : parameters) {
    libtorch::track_tensor(tracker, name, parameter, fence);
    names->add(parameter, join_path(tracker.name(), name));
  }
  tracker.add_provider({.list = [&module, parameters = std::move(parameters)](Tracker& here) {
    check_unchanged(module, parameters, here.name());
    check_members(module, here.name());
    for (const auto& [name, buffer] : libtorch::buffers_of(module))
      libtorch::track_tensor(here, name, buffer, nullptr);
  }});
}

}  // namespace crochet::inline v0
