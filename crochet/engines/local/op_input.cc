// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "crochet/engines/local/operation_options.h"

namespace crochet::inline v0::local {

OpInput::OpInput(const Operation& operation) : output_(crochet::internal::with_value(operation)) {}

std::string to_string(const OpInput& input) {
  if (input.use() == OpInput::Use::kValue) return to_string(input.output());
  return input.variable() ? fmt::format("variable \"{}\"", input.variable().name())
                          : "an unset variable";
}

}  // namespace crochet::inline v0::local
