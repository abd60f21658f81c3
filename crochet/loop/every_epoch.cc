// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/every_epoch.h"

#include <utility>

#include "crochet/base/internal/check_number.h"
#include "crochet/hooks/internal/periodic_hook.h"

namespace crochet::inline v0 {

EveryEpochHook::EveryEpochHook(const EpochOrder& epochs, std::optional<int64_t> only,
                               internal::ValueList values,
                               std::function<void(int64_t, const FetchValues&)> function)
    : epochs_(epochs), only_(only), values_(values.fetches()), function_(std::move(function)) {
  internal::check_at_least("at_epoch: epoch", only_, 1);
}

void EveryEpochHook::begin(Graph& graph) {
  values_ = internal::resolve_values(graph, values_, *this);
}

void EveryEpochHook::after_create_session(Session&, Coordinator&) {
  completed_ = epochs_.completed();
}

// Not at_end(): the attempt that took the last batch may have been skipped.
void EveryEpochHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  const int64_t before = std::exchange(completed_, epochs_.completed());
  if (completed_ <= before) return;
  if (only_ && (*only_ <= before || *only_ > completed_)) return;
  function_(completed_, context.session().run(values_));
}

}  // namespace crochet::inline v0
