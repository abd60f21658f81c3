// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/resized_values.h"

#include <vector>

#include <fmt/format.h>

#include "crochet/base/listed.h"
#include "crochet/base/log.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// "3 elements, was 8".
std::string change(const Shape& now, const Shape& before) {
  if (now.rank() != 1) return fmt::format("shape {}, was {}", now, before);
  return fmt::format("{} element{}, was {}", now[0], now[0] == 1 ? "" : "s", before[0]);
}

}  // namespace

void ResizedValues::log(const std::string& prefix) const {
  std::vector<std::string> changes;
  for (const auto& [name, now] : present_shapes(graph_)) {
    const auto before = before_.find(name);
    if (before == before_.end() || before->second == now || before->second.num_elements() == 0)
      continue;
    changes.push_back(fmt::format("\"{}\" ({})", name, change(now, before->second)));
  }
  if (!changes.empty())
    log_info(
        fmt::format("{}: its sizes replace those of this program: {}", prefix, listed(changes)));
}

}  // namespace crochet::inline v0::internal
