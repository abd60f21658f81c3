// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/internal/export.h"
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// Checks, with all ranks, that their parts of each variable cover it once. Requires: all ranks have
// the same variables.
// Throws: InvalidArgumentError in all ranks that names the variable, and the ranks that overlap or
// how much is covered; what RunAgreement's calls throw.
CROCHET_EXPORT void check_shards(const Graph& graph, RunAgreement& agreement);

}  // namespace crochet::inline v0::internal
