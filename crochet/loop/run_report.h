// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/ranks/ranks.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// How a run ended.
struct RunReport {
  // Why the run stopped, and who asked for it.
  StopRequest stop;
  // The number of completed steps when the run began (0: a fresh start) and when it ended.
  int64_t first_step = 0;
  int64_t last_step = 0;
  // How often the data was visited when it ended, with the fraction of the last time: of the first
  // Epochs that the loop tracks; unset without one.
  std::optional<double> epochs = {};
  // The step that was restored in this process's first session; unset if none was.
  std::optional<int64_t> resumed_from = {};
  // The state that was restored then, and the newer checkpoints that were damaged.
  std::optional<RestoreReport> restore = {};
  int recoveries = 0;
  // The numbers of published checkpoints and of failed saves.
  int64_t saves = 0;
  int64_t failed_saves = 0;
  // The same in detail, with skipped saves, retries, bytes, seconds.
  SaveStatistics saving = {};
  // Where the time of this process went.
  RunTimes times = {};
  // The signal that asked the process to end, or SIGTERM at EndOptions::deadline; 0 otherwise.
  int signal = 0;
  // How many attempts at a step were skipped by LoopAction::kSkip.
  int64_t skipped_steps = 0;

  // For main(), as shells and batch systems expect it: 0, or 128 + signal if a signal asked the
  // process to end, or a deadline did, even if the last step was reached just then.
  int exit_code() const { return signal == 0 ? 0 : 128 + signal; }
};

// "step 2000 (resumed from 800, 6 checkpoints): StopAtStepHook: reached step 2000"
CROCHET_EXPORT std::string to_string(const RunReport& report);
CROCHET_EXPORT std::ostream& operator<<(std::ostream& out, const RunReport& report);

}  // namespace crochet::inline v0
