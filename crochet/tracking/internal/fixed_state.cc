// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/fixed_state.h"

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {

void FixedState::restore(const TensorMap& state) {
  if (const std::optional<Rows> rows = object_->rows())
    for (const auto& [key, own] : rows->present)
      if (const auto stored = state.find(key); stored != state.end()) {
        if (stored->second.shape() != own.shape())
          throw InvalidArgumentError(
              fmt::format("it is fixed(): found {} in the checkpoint, "
                          "expected {}",
                          stored->second.shape(), own.shape()));
        if (rows->key_column == key && stored->second != own)
          throw InvalidArgumentError("it is fixed(): found other keys in the checkpoint");
      }
  object_->restore(state);
}

}  // namespace crochet::inline v0::internal
