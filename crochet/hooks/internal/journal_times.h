// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/internal/export.h"
#include "crochet/journal/internal/journal_event.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Adds where the time of this life has gone so far: see docs/operating.md.
CROCHET_EXPORT void add_times(const RunTimes& times, JournalEvent& event);

}  // namespace crochet::inline v0::internal
