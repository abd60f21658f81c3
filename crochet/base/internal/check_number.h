// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

// Checks of a number that a caller gives, such as an option; `name` says which. One that is unset
// passes. Throw: InvalidArgumentError with the number and the limit, for NaN too.
template <typename Number>
void check_at_least(std::string_view name, Number number, int least) {
  if (!(number >= least))
    throw InvalidArgumentError(fmt::format("{} is {}, expected {} or more", name, number, least));
}
template <typename Number>
void check_at_least(std::string_view name, const std::optional<Number>& number, int least) {
  if (number) check_at_least(name, *number, least);
}
template <typename Number>
void check_above(std::string_view name, Number number, int limit) {
  if (!(number > limit))
    throw InvalidArgumentError(fmt::format("{} is {}, expected more than {}", name, number, limit));
}
template <typename Number>
void check_above(std::string_view name, const std::optional<Number>& number, int limit) {
  if (number) check_above(name, *number, limit);
}

}  // namespace crochet::inline v0::internal
