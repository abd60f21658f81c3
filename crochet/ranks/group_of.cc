// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/ranks/internal/run_agreement.h"
#include "crochet/ranks/ranks.h"

namespace crochet::inline v0 {

const Group* group_of(const Graph& graph) { return internal::agreement_of(graph)->group().get(); }

}  // namespace crochet::inline v0
