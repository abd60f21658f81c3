// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/nn.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/io/path.h"
#include "crochet/libtorch/parameter_names.h"
#include "crochet/libtorch/track.h"
#include "crochet/libtorch/tracked_tensor.h"
#include "crochet/libtorch/write_fence.h"

namespace crochet::inline v0 {
namespace {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Each tensor once, under its first name: LibTorch has a shared one under every name.
NamedTensors distinct(const torch::OrderedDict<std::string, at::Tensor>& tensors) {
  NamedTensors result;
  std::set<const at::TensorImpl*> known;
  for (const auto& item : tensors)
    if (item.value().defined() && known.insert(item.value().unsafeGetTensorImpl()).second)
      result.emplace_back(item.key(), item.value());
  return result;
}

// True if the member is not the tensor that is registered under its name.
bool is_left_behind(const torch::nn::Module& module, const char* name, const at::Tensor& member) {
  const at::Tensor* const registered = module.named_parameters(/*recurse=*/false).find(name);
  return registered != nullptr && !member.is_same(*registered);
}

// The name of a member that was assigned to, for modules of the class; otherwise null.
template <typename Module>
const char* assigned_member_of(const torch::nn::Module& module) {
  const auto* const own = internal::dynamic_as<const Module>(&module);
  if (own == nullptr) return nullptr;
  if (is_left_behind(module, "weight", own->weight)) return "weight";
  if constexpr (requires { own->bias; })
    if (is_left_behind(module, "bias", own->bias)) return "bias";
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
  const NamedTensors present = distinct(module.named_parameters());
  const auto has = [](const NamedTensors& tensors, const auto& wanted) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const auto& entry) {
      return entry.first == wanted.first && entry.second.is_same(wanted.second);
    });
  };
  const auto check_in = [&](const NamedTensors& tensors, const NamedTensors& others) {
    for (const auto& entry : tensors)
      if (!has(others, entry))
        throw FailedPreconditionError(fmt::format(
            "parameter \"{}\" of a module was added, removed or replaced after the module was "
            "tracked; track modules once they are complete, and assign to parameters with copy_() "
            "or set_data()",
            join_path(name, entry.first)));
  };
  if (std::equal(present.begin(), present.end(), tracked.begin(), tracked.end(),
                 [](const auto& a, const auto& b) {
                   return a.first == b.first && a.second.is_same(b.second);
                 }))
    return;
  check_in(present, tracked);
  check_in(tracked, present);
}

}  // namespace

void track(Tracker& tracker, torch::nn::Module& module) {
  const auto names = libtorch::ParameterNames::of(tracker.graph());
  const auto fence = libtorch::OperatorFence::of(tracker.graph());
  NamedTensors parameters = distinct(module.named_parameters());
  for (const auto& [name, parameter] : parameters) {
    libtorch::track_tensor(tracker, name, parameter, fence);
    names->add(parameter, join_path(tracker.name(), name));
  }
  tracker.add_provider({.list = [&module, parameters = std::move(parameters)](Tracker& here) {
    check_unchanged(module, parameters, here.name());
    check_members(module, here.name());
    for (const auto& [name, buffer] : distinct(module.named_buffers()))
      libtorch::track_tensor(here, name, buffer, nullptr);
  }});
}

}  // namespace crochet::inline v0
