// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/saver.h"

namespace crochet::inline v0 {

void register_saver(Graph& graph, std::shared_ptr<Saver> saver) {
  if (!saver) throw InvalidArgumentError("register_saver: the saver is null");
  graph.attach(std::move(saver));
}

std::shared_ptr<Saver> registered_saver(const Graph& graph) {
  const std::vector<std::shared_ptr<Saver>> savers = graph.attached<Saver>();
  if (savers.size() > 1)
    throw FailedPreconditionError(fmt::format(
        "More than one item: the graph has {} savers, expected at most one; set one in the "
        "scaffold or the hook",
        savers.size()));
  return savers.empty() ? nullptr : savers.front();
}

}  // namespace crochet::inline v0
