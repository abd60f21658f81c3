// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// Attached to a graph by what must be done once its values were put back in the middle of a run, as
// by a rehearsal: files continue where they were then.
struct AfterRestore {
  std::function<void()> call;
};

inline void call_after_restore(const Graph& graph) {
  for (const auto& each : graph.attached<AfterRestore>()) each->call();
}

}  // namespace crochet::inline v0::internal
