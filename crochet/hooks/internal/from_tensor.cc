// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/from_tensor.h"

#include <fmt/format.h>

namespace crochet::inline v0::internal {

double number_of(std::string_view who, std::string_view name, const Tensor& tensor) {
  try {
    return tensor.to_double();
  } catch (const InvalidArgumentError&) {
    throw InvalidArgumentError(fmt::format("{}\"{}\" is a tensor {}, expected one real number", who,
                                           name, describe(tensor)));
  }
}

}  // namespace crochet::inline v0::internal
