// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/checkpoint/saver/internal/restore_mismatch.h"
#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet::inline v0::internal {

// The missing values that a checkpoint probably has under an old name, in the order of
// `mismatch.missing`: the surplus entry of the same type and a shape that fits whose name is the
// most similar. No two share an entry, and where two names are equally similar there is no guess.
std::vector<StoredName> likely_renamings(const RestoreMismatch& mismatch);

}  // namespace crochet::inline v0::internal
