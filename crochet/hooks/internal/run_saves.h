// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/internal/save_deadline.h"
#include "crochet/hooks/internal/save_interval.h"
#include "crochet/hooks/internal/save_reports.h"
#include "crochet/hooks/internal/save_reserve.h"
#include "crochet/hooks/internal/saved_place.h"
#include "crochet/training/internal/time_ledger.h"

namespace crochet::inline v0::internal {

// The saves of a run, once a hook has decided that one is due: takes snapshots, writes them or has
// them written by a thread, and knows what became of each. Holds the run's directories from begin()
// to release().
class RunSaves {
 public:
  RunSaves(CheckpointSaverHookOptions options, bool in_background)
      : options_(std::move(options)),
        in_background_(in_background),
        deadline_(options_.saving.deadline_secs),
        interval_(interval_rule(options_)) {}

  const CheckpointSaverHookOptions& options() const { return options_; }
  const SaveStatistics& statistics() const { return reports_.statistics(); }
  std::string save_path() const;
  // Requires: a session exists.
  Saver& saver();
  // The saver, or null if it is not known yet: one may be created only with the session.
  std::shared_ptr<Saver> find_saver() const;

  // Throws: as CheckpointSaverHook::begin.
  void begin(Graph& graph);
  bool has_begun() const { return locks_ != nullptr; }
  // Waits for the saves of an earlier session.
  void wait_for_earlier();
  // A session begins after `step`. True if there is a checkpoint of it.
  bool begin_session(int64_t step);
  // True if the save of `step` was the last one to start, and has not failed.
  bool is_saved(int64_t step) const { return last_saved_step_ == step; }
  void forget_last_step() { last_saved_step_.reset(); }

  // Takes a snapshot of `step` and writes it, or queues it. `overlap` decides what happens if
  // another one is still being written; the last save of a run shares nothing with the program.
  // True if a listener asks to stop.
  bool save(Session& session, int64_t step, SaveOverlapPolicy overlap, bool is_last);
  // Records the saves that ended. True if a listener asks to stop.
  bool deliver_finished(Session& session) {
    return background_ && background_->has_finished() && deliver(session);
  }
  void throw_error_if_to_stop() {
    if (untold_error_) throw_untold_error();
  }

  // The interval of saves from now on, in seconds, if what they cost has changed it.
  std::optional<double> take_interval() {
    return interval_.has_new() ? take_new_interval() : std::nullopt;
  }

  // Why the loop has to stop now, for its last save to end in time; unset if it may make a run.
  // `saves_now`: the step just made is saved as well.
  std::optional<std::string> reason_to_stop(const StopBefore& stop, bool saves_now);

  // The run ends: before its last save, waits for the running one as the options require.
  // `is_rejected` is the last step if a hook rejected it. Throws: DeadlineExceededError.
  void begin_end(Session& session, bool is_rejected);
  // False if the time that the end has is over.
  bool has_time() { return deadline_.has_time(saver().clock()); }
  // Returns once everything is written. Throws the error of the last save.
  void finish(Session& session);
  // Releases the directories, however the run ended. Snapshots that are held are written first;
  // with a deadline, the writing thread may keep the locks.
  void release();
  // "saving step 200"; empty if nothing is being written.
  std::string activity() const;

 private:
  BackgroundSaver& background();
  TimeLedger& times() const { return TimeLedger::of(*graph_); }
  bool is_saving() const { return background_ && last_saved_step_ && background_->busy(); }
  void record_ended(const SaveTicket& ticket);
  std::optional<double> take_new_interval();
  bool deliver(Session& session);
  [[noreturn]] void throw_untold_error();
  void finish_running(Session& session, bool is_rejected);
  // True if there is nothing to save: then no checkpoint is written, counted or reported.
  bool is_nothing(const SaveSource& source);
  bool call_after_save(Session& session, int64_t step);

  CheckpointSaverHookOptions options_;
  const WorkingDirectory start_;  // Where relative paths begin.
  const bool in_background_;
  Graph* graph_ = nullptr;        // From begin on.
  std::shared_ptr<Saver> saver_;  // From the first session on, unless the scaffold has it.
  SaveDeadline deadline_;
  SaveReports reports_;
  SaveReserve reserve_;
  SaveInterval interval_;
  std::shared_ptr<SummaryWriter> writer_;
  std::shared_ptr<SavedPlace> place_;  // From begin on.
  std::shared_ptr<void> locks_;        // Held for as long as something is written.
  bool nothing_logged_ = false;
  // The state of the session is so far only in the fast place of an earlier life.
  bool needs_fast_place_ = false;
  // The step whose save started last, unless that failed.
  std::optional<int64_t> last_saved_step_;
  std::shared_ptr<BackgroundSaver> background_;  // From the first save on.
  std::exception_ptr last_error_;                // Why the last save that ended failed.
  std::exception_ptr untold_error_;              // The error to throw next.
};

}  // namespace crochet::inline v0::internal
