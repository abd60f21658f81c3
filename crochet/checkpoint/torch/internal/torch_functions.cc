// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_functions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "crochet/checkpoint/torch/internal/torch_types.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::pair<GlobalName, TorchFunction> kFunctions[] = {
    {{"torch._utils", "_rebuild_tensor"}, TorchFunction::kOldTensor},
    {{"torch._utils", "_rebuild_tensor_v2"}, TorchFunction::kTensor},
    {{"torch._utils", "_rebuild_tensor_v3"}, TorchFunction::kTypedTensor},
    {{"torch._utils", "_rebuild_parameter"}, TorchFunction::kFirstArgument},
    {{"torch._utils", "_rebuild_parameter_with_state"}, TorchFunction::kFirstArgument},
    {{"torch._tensor", "_rebuild_from_type_v2"}, TorchFunction::kSubclass},
    {{"torch", "Size"}, TorchFunction::kFirstArgument},
    {kOrderedDict, TorchFunction::kPairs},
    // The milestones of a scheduler.
    {{"collections", "Counter"}, TorchFunction::kFirstArgument},
    {{"torch", "device"}, TorchFunction::kNoData},
    {{"torch.serialization", "_get_layout"}, TorchFunction::kNoData},
    // Of TorchScript.
    {{"torch.jit._pickle", "build_intlist"}, TorchFunction::kFirstArgument},
    {{"torch.jit._pickle", "build_doublelist"}, TorchFunction::kFirstArgument},
    {{"torch.jit._pickle", "build_boollist"}, TorchFunction::kFirstArgument},
    {{"torch.jit._pickle", "build_tensorlist"}, TorchFunction::kFirstArgument},
    {{"torch.jit._pickle", "restore_type_tag"}, TorchFunction::kFirstArgument},
};

constexpr GlobalName kTensorClasses[] = {
    {"torch", "Tensor"},
    {"torch._tensor", "Tensor"},
    {"torch.nn.parameter", "Parameter"},
    {"torch.nn.parameter", "Buffer"},
};

constexpr GlobalName kUntypedStorages[] = {
    {"torch.storage", "UntypedStorage"},
    {"torch.storage", "_UntypedStorage"},
    {"torch", "UntypedStorage"},
};

}  // namespace

std::optional<TorchFunction> function_of(const GlobalName& global) {
  const auto* const found =
      std::ranges::find(kFunctions, global, &std::pair<GlobalName, TorchFunction>::first);
  return found == std::end(kFunctions) ? std::nullopt : std::optional(found->second);
}

bool is_script_class(const GlobalName& global) { return global.module.starts_with("__torch__"); }

bool is_tensor_class(const GlobalName& global) {
  return std::ranges::find(kTensorClasses, global) != std::end(kTensorClasses);
}

bool is_untyped_storage(const GlobalName& global) {
  return std::ranges::find(kUntypedStorages, global) != std::end(kUntypedStorages);
}

bool is_known_to_torch(const GlobalName& global) {
  return function_of(global) || is_tensor_class(global) || is_untyped_storage(global) ||
         find_torch_dtype(global) != nullptr || find_torch_storage(global) != nullptr;
}

}  // namespace crochet::inline v0::internal
