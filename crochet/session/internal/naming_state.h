// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// Implemented by a Saveable whose state has the names of other values in it, in a list of texts or
// in its keys: what a restore does to these values, it does to what the state says of them.
class CROCHET_EXPORT NamingState {
 public:
  virtual ~NamingState() = default;

  // The name that a value of the program has in the checkpoint; unset if the value stays as the
  // program has it.
  using StoredNameOf = std::function<std::optional<std::string>(const std::string& name)>;
  // The state to restore: `state`, which is stored, by the program's names.
  virtual TensorMap by_own_names(TensorMap state, const StoredNameOf& stored_name_of) const = 0;
};

}  // namespace crochet::inline v0::internal
