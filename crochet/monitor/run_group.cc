// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/run_group.h"

namespace crochet::inline v0 {

std::shared_ptr<internal::RunGroup> internal::run_group(const Graph& graph) {
  const auto attached = graph.attached<RunGroup>();
  return attached.empty() || !attached.back()->group ? nullptr : attached.back();
}

const Group* group_of(const Graph& graph) {
  const auto attached = internal::run_group(graph);
  return attached ? attached->group.get() : nullptr;
}

internal::AttachedRunGroup::AttachedRunGroup(Graph& graph, std::shared_ptr<Group> group) {
  if (!group) return;
  const auto existing = graph.attached<RunGroup>();  // Of an earlier run.
  attached_ = existing.empty() ? std::make_shared<RunGroup>() : existing.back();
  *attached_ = {.group = std::move(group)};
  if (existing.empty()) graph.attach(attached_);
}

internal::AttachedRunGroup::~AttachedRunGroup() {
  if (attached_) *attached_ = {};
}

}  // namespace crochet::inline v0
