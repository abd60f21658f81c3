// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/export.h"
#include "crochet/group/group.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0 {

// The group of ranks in which the current run of this graph takes part, for hooks; null if it runs
// alone. Known from begin() on. Hooks must not call its functions.
CROCHET_EXPORT const Group* group_of(const Graph& graph);

}  // namespace crochet::inline v0
