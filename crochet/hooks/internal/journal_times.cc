// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/journal_times.h"

namespace crochet::inline v0::internal {

void add_times(const RunTimes& times, JournalEvent& event) {
  event.with("setup_secs", times.setup)
      .with("saving_secs", times.saving)
      .with("slowed_secs", times.slowed)
      .with("evaluation_secs", times.evaluation)
      .with("waiting_secs", times.waiting)
      .with("hooks_secs", times.hooks);
  for (const auto& [name, secs] : times.by_hook)
    if (secs > 0) event.with("hooks/" + name, secs);
}

}  // namespace crochet::inline v0::internal
