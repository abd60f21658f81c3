// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"
#include "crochet/journal/internal/journal.h"
#include "crochet/loop/run_report.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/internal/time_ledger.h"
#include "crochet/training/session_creator.h"

namespace crochet::inline v0::internal {

// Records in the journal how a run begins, recovers and ends; what happens in between, its hooks
// record. Of the chief.
class RunJournal {
 public:
  struct Settings {
    int num_ranks = 1;
    // Those that differ from the defaults, by their paths.
    std::vector<Hyperparameter> options = {};
    std::vector<Hyperparameter> hyperparameters = {};
  };

  // Requires: `times`, `files` and `clock` outlive this.
  RunJournal(const std::string& directory, Settings settings, const TimeLedger& times,
             FileSystem& files, Clock& clock);
  // A life that was not ended has failed.
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  // A session is about to be created: the first one, or one of a recovery from the error that is
  // being handled.
  void begin_session();
  // It was created, and restored from `restored` if that is set.
  void record_session(const std::optional<RestoreReport>& restored, int64_t step);
  void record_stop(const StopRequest& request, int64_t step);
  void fail(const std::exception_ptr& error) { journal_->fail(error); }
  void end(const RunReport& report);
  // Unless it has ended. `step`: the last one, if it is known.
  void end_failed(const std::optional<int64_t>& step);

 private:
  // After a life that did not end by itself: what is known of it, and lost.
  void log_lost(int64_t step) const;

  const std::string directory_;
  const TimeLedger& times_;  // Not owned.
  Clock& clock_;             // The same.
  const Settings settings_;
  const std::shared_ptr<Journal> journal_;
  Clock::TimePoint begin_;  // Of the last session.
  int num_sessions_ = 0;
};

}  // namespace crochet::inline v0::internal
