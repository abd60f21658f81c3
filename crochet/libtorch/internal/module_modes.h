// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/session/internal/naming_state.h"
#include "crochet/session/saveable.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace crochet::inline v0::libtorch::internal {

// What a module computes with beside its tensors, in checkpoints as one list of texts "name=value"
// for each kind:
//
// - "modes/training": of each module, whether it is in training mode;
// - "modes/requires_grad": of each parameter;
// - "modes/options": the probability of each dropout layer, which a restore sets; and the options
//   of LibTorch's other layers as they print them, which it only compares;
// - "modes/hooks": the number of hooks of each parameter that has some, which it only compares.
//
// A restore logs one warning for each kind in which the program differs.
struct ModuleMode {
  std::string key;
  std::shared_ptr<Saveable> object;
};
// A property of a module or of one of its parameters.
struct Mode {
  std::string value;
  std::function<void(const std::string& value)> set;  // Empty for one that is only compared.
};
// In the order of the modules, parents first: train() of a module sets its children, too.
using Modes = std::vector<std::pair<std::string, Mode>>;
// The modes that `list` returns, in a checkpoint under `key`. `name` is the module's. What is not
// listed has the value `absent`; "" for none.
ModuleMode make_mode(const std::string& key, const std::string& name, std::function<Modes()> list,
                     std::string absent = "");

// Under which name a list that is stored as `<module>/<list>` has the parameter or module `name` of
// a module; unset if this stays as the program has it.
std::optional<std::string> stored_in_list(
    const std::string& module, const std::string& list, const std::string& name,
    const crochet::internal::NamingState::StoredNameOf& stored_name_of);

// Requires: the module outlives the result. `name` is the module's, for messages.
std::vector<ModuleMode> modes_of(torch::nn::Module& module, const std::string& name);

}  // namespace crochet::inline v0::libtorch::internal
