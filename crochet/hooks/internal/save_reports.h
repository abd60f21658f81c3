// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/journal/internal/journal.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Counts the saves of a run, writes the figures of each as curves (see CheckpointSaverHook), and
// records its stages in the journal.
class SaveReports {
 public:
  const SaveStatistics& statistics() const { return statistics_; }
  // Where the curves go from now on; null: nowhere.
  void write_to(std::shared_ptr<SummaryWriter> writer) { writer_ = std::move(writer); }

  // Null: in no journal.
  void record_in(std::shared_ptr<Journal> journal) { journal_ = std::move(journal); }

  // Training waited for the save of `step`.
  void record_blocked(int64_t step, Clock::Duration duration);
  // A save was not made, or has ended.
  void record_skipped(int64_t step);
  // `times`: of the run until then. Returns the time for which training waited for it.
  double record_ended(const SaveTicket& ticket, const RunTimes& times);

 private:
  // Adds the counts to the figures of a save.
  void write(int64_t step, std::vector<Scalar> figures);
  // The part of the time since the last save that went into steps, in percent.
  double steps_percent(const RunTimes& times);

  SaveStatistics statistics_;
  std::shared_ptr<SummaryWriter> writer_;
  std::shared_ptr<Journal> journal_;
  double total_secs_ = 0;                   // At the last save.
  double steps_secs_ = 0;                   // Of these, of steps.
  std::map<int64_t, double> blocked_secs_;  // By step, until the save has ended.
};

}  // namespace crochet::inline v0::internal
