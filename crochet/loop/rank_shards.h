// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/group/group.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// Checks, with all ranks, that their parts of each variable cover it once. `group` is null for a
// program that runs alone.
// Throws: InvalidArgumentError in all ranks that names the variable, and the ranks that overlap or
// how much is covered; what Group's calls throw.
void check_shards(const Graph& graph, Group* group, double timeout_secs);

}  // namespace crochet::inline v0::internal
