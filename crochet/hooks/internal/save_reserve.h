// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// How long before the end of the process a run has to stop for its last save.
class CROCHET_EXPORT SaveReserve {
 public:
  // Called again and again, at most a step, or a second, after the last call. `saves` are those of
  // the run so far; `is_saving`: one more is being written; `saves_now`: the step just made is
  // saved as well. `runs`: how many the loop makes before it can stop. Why the loop has to stop
  // now; unset if it may make a run.
  std::optional<std::string> reason_to_stop(const StopBefore& stop, const SaveStatistics& saves,
                                            bool is_saving, bool saves_now, int runs,
                                            const Clock& clock);

 private:
  void measure(const SaveStatistics& saves);

  // Before the first save has ended.
  double unknown_secs(double left, bool saves_now);

  SaveStatistics last_saves_;
  std::optional<double> first_left_;
  double save_secs_ = 0;  // Of the slowest save, from its snapshot until it was published.
};

}  // namespace crochet::inline v0::internal
