// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "crochet/base/export.h"
#include "crochet/group/group.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0 {

// The group of ranks in which the current run of this graph takes part, for hooks; null if it runs
// alone. Known from begin() on. Hooks must not call its functions.
CROCHET_EXPORT const Group* group_of(const Graph& graph);

namespace internal {

// What is known of a group during a run.
struct RunGroup {
  std::shared_ptr<Group> group;
  int ending_signal = 0;  // The signal on which the ranks agreed at the end of the run; 0: none.
};

// Unset if the run has no group.
CROCHET_EXPORT std::shared_ptr<RunGroup> run_group(const Graph& graph);

// Attaches a group to a graph during a run.
class CROCHET_EXPORT AttachedRunGroup {
 public:
  // Requires: the graph outlives this. Does nothing for null.
  AttachedRunGroup(Graph& graph, std::shared_ptr<Group> group);
  ~AttachedRunGroup();
  AttachedRunGroup(const AttachedRunGroup&) = delete;
  AttachedRunGroup& operator=(const AttachedRunGroup&) = delete;

 private:
  std::shared_ptr<RunGroup> attached_;
};

}  // namespace internal
}  // namespace crochet::inline v0
