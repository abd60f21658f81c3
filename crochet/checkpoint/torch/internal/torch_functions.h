// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "crochet/checkpoint/torch/internal/pickle.h"

namespace crochet::inline v0::internal {

// How the value that a function returns follows from its arguments. Of functions that are not
// known, nothing is: they are never called.
enum class TorchFunction {
  kOldTensor,      // torch._utils._rebuild_tensor: storage, offset, sizes, strides.
  kTensor,         // ..._v2, with requires_grad, hooks and sometimes flags.
  kTypedTensor,    // ..._v3, with a type, for those without a storage class.
  kFirstArgument,  // It is the first argument.
  kSubclass,       // It is made by a function, a class and arguments, which are arguments.
  kPairs,          // A dict; the argument, if there is one, is a list of keys and values.
  kNoData,         // Such as a device.
};
std::optional<TorchFunction> function_of(const GlobalName& global);

// A class of TorchScript, whose objects are modules.
bool is_script_class(const GlobalName& global);
// The class of tensors that are nothing else.
bool is_tensor_class(const GlobalName& global);
// A class of storages without a type.
bool is_untyped_storage(const GlobalName& global);
// A function, class or constant that has no value of its own, such as a type of elements.
bool is_known_to_torch(const GlobalName& global);

}  // namespace crochet::inline v0::internal
