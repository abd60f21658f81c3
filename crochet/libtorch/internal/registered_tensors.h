// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/libtorch/internal/parameter_names.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace crochet::inline v0::libtorch::internal {

// Throws: FailedPreconditionError if a module computes with another tensor than the one that it has
// registered, because its member was assigned to (net->weight = w). `name` is the module's.
//
// Of LibTorch's own layers the members are known: one that is a parameter or buffer under another
// name, as tied weights are, is fine. Of other modules only this is known: who holds a registered
// tensor. If it was in use when the module was tracked, and nothing holds it now but the module's
// register and optimizers, its member is another tensor. What stays unnoticed is a member that was
// assigned to while a copy of the former tensor is kept somewhere, or before the module was
// tracked.
void check_registered(const torch::nn::Module& module, ParameterNames& names,
                      const std::string& name);

}  // namespace crochet::inline v0::libtorch::internal
