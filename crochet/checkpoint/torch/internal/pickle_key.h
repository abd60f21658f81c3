// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/checkpoint/torch/internal/pickle.h"

namespace crochet::inline v0::internal {

// A key of a dict as text, as Python's str(): "weight", "3", "True", "0.5", "('a', 1)". Unset for
// keys of other kinds, and for tuples that would need more than a few hundred bytes or levels.
std::optional<std::string> key_text(const Pickle& pickle, const PickleValue& key);

}  // namespace crochet::inline v0::internal
