// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/group_restore.h"

#include <vector>

#include <fmt/format.h>

namespace crochet::inline v0::internal {

std::optional<std::string> damage_in_any(Group& group, const std::string& damage,
                                         double timeout_secs) {
  const std::vector<std::string> all = group.all_gather(damage, timeout_secs);
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty()) return fmt::format("rank {}: {}", rank, all[rank]);
  return std::nullopt;
}

}  // namespace crochet::inline v0::internal
