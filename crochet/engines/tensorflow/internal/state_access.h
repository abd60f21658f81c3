// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <unordered_set>

struct TF_Operation;

namespace crochet::inline v0::tensorflow::internal {

// True if a run of `roots`, with all their inputs, has an operation that takes one of
// `variables`, by reference or by its resource handle, and is not known to only read it.
bool changes_state(std::span<TF_Operation* const> roots,
                   const std::unordered_set<TF_Operation*>& variables);

}  // namespace crochet::inline v0::tensorflow::internal
