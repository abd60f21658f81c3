// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/group/group.h"

namespace crochet::inline v0::internal {

// Exchanges what the ranks found wrong with the checkpoint that they restore: `damage` is empty in
// a rank that restored it. Returns what the first of them found, in every rank; unset if all are
// content. Throws: what Group's calls throw.
std::optional<std::string> damage_in_any(Group& group, const std::string& damage,
                                         double timeout_secs);

}  // namespace crochet::inline v0::internal
