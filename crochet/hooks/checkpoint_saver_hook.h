// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crochet/checkpoint/saver/background_saver.h"
#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/checkpoint/saver/save_statistics.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/hooks/checkpoint_saver_listener.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/io/directory_lock.h"
#include "crochet/monitor/scaffold.h"
#include "crochet/monitor/session_run_hook.h"
#include "crochet/summary/summary_writer.h"

namespace crochet {

// Exactly one of the intervals, at most one of saver and scaffold; with neither, the saver is the
// graph's (registered_saver.h), or one with its defaults.
struct CheckpointSaverHookOptions {
  std::string checkpoint_dir = {};
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  std::shared_ptr<Saver> saver = {};
  std::string checkpoint_basename = "model.ckpt";
  // Its saver is used, as it is at each save.
  std::shared_ptr<Scaffold> scaffold = {};
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners = {};
  // Recorded with the checkpoint of the step that they belong to, also if they come later: for
  // SaverOptions::keep_best. The value of the graph that this names, if there is one, is recorded
  // without being listed here.
  std::vector<MetricSource> metrics = {};
  // The steps that one run is expected to make.
  int64_t steps_per_run = 1;
  // Of AsyncCheckpointSaverHook; CheckpointSaverHook has no saves that overlap, and throws errors.
  SaveOverlapPolicy overlap = SaveOverlapPolicy::kWait;
  SaveErrorPolicy on_save_error = SaveErrorPolicy::kContinue;
  // Where a checkpoint goes that cannot be written into checkpoint_dir, and is found again: see
  // SaverOptions. Locked like checkpoint_dir. Default: the saver's.
  std::string fallback_dir = {};
  // How long ending may take, from the signal that asks for it, or else from the end on: the last
  // save is begun only if it can be finished. Default: as long as it takes.
  std::optional<double> deadline_secs = {};
  // Gets the curves "checkpoint/...". Default: the writer of checkpoint_dir.
  std::shared_ptr<SummaryWriter> summary_writer = {};
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Saves a checkpoint "<checkpoint_dir>/<checkpoint_basename>-<step>" when a session is created,
// then every n steps or seconds, and at the end, while training waits. The step that was just
// restored is not written again; a step that a hook rejected (SessionRunContext::reject_step),
// because its loss is NaN for example, is not written at all.
//
// From begin to the end it holds the directory's lock, so two runs cannot write into
// one directory. What a killed save left there is removed in begin.
//
// What became of each save is a point, at the saved step, of the curves "checkpoint/seconds" (until
// it was published), "checkpoint/written_seconds", "checkpoint/durable_seconds",
// "checkpoint/blocked_seconds" (for which training stood still) and "checkpoint/bytes", and of
// the counters "checkpoint/saved", "checkpoint/failed", "checkpoint/skipped" and
// "checkpoint/retries"; at the end they are in the log.
//
// With deadline_secs = T, a save that is due behind the signal that asks to end is left to the end,
// and the last one is begun if, by what earlier ones took, it can be finished within T seconds of
// the signal, or of the beginning of the end; else end() throws a DeadlineExceededError that
// names the step and the last checkpoint that is published. A save that has begun is finished,
// however long it takes: AsyncCheckpointSaverHook can leave it behind.
//
// Errors of saving are thrown from the run, and end it.
class CheckpointSaverHook : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for conflicting or missing options.
  explicit CheckpointSaverHook(CheckpointSaverHookOptions options);

  // Throws: FailedPreconditionError if another run holds the directory, or without a global step.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  HookPlace place() const override { return HookPlace::kSaver; }

  const SaveStatistics& statistics() const { return statistics_; }

 protected:
  enum class Writing { kWaits, kInBackground };
  CheckpointSaverHook(CheckpointSaverHookOptions options, Writing writing);

 private:
  // Of a session that is there.
  Saver& saver();
  // The saver as far as it is known; null before a session is made if it is made with that.
  std::shared_ptr<Saver> find_saver() const;
  BackgroundSaver& background();
  std::string save_path() const;
  // Throws: FailedPreconditionError if another run holds one of the directories.
  std::shared_ptr<void> lock_directories(FileSystem& files, const std::string& second,
                                         const std::string& state_file);

  // The value that the saver keeps the best of, if it is the graph's.
  void find_metric(const Graph& graph);
  bool may_save_after_next_run() const;
  // What belongs to the checkpoint of this step, or to an earlier one.
  void note_metrics(int64_t step);
  void note_metric(int64_t step, const Tensor& value);

  // Takes the state of `step` and sees to it that it is written. True if a listener asks to stop.
  bool save(Session& session, int64_t step);
  bool save_if_missing(Session& session, int64_t step);
  void save_last(Session& session, int64_t step);
  // True if a signal asks to end, and there is a deadline: then the last save is the next one.
  bool is_left_to_the_end(int64_t step) const;
  // False if `num_bytes` cannot be saved before the deadline; finish() then says so.
  bool is_time_for(int64_t step, uint64_t num_bytes);
  // True if there was nothing to save: no checkpoint is written, counted or reported then.
  bool is_nothing(const SaveSource& source);
  // Takes note of saves that ended. True if a listener asks to stop.
  bool deliver_finished(Session& session);
  void throw_error_if_to_stop();
  // Finishes what is being written before the last save is begun. Throws: DeadlineExceededError.
  void finish_running(Session& session);
  // Returns once all is written; throws if the last save could not be.
  void finish(Session& session);
  // Gives the directory back, to whatever end the run came. A snapshot that is held is still
  // written before that; with a deadline, the writer may keep the locks.
  void release();
  // When all must be done: set once the run ends. Requires: deadline_secs.
  Clock::TimePoint deadline();
  bool has_deadline() const { return deadline_.has_value(); }
  double secs_left() { return to_seconds(deadline() - saver().clock().now()); }

  void call_before_save(Session& session, int64_t step);
  bool call_after_save(Session& session, int64_t step);
  // For how long training stood still for the save of a step.
  void note_blocked(int64_t step, Clock::Duration duration);
  // Counts a save that was not made, or that has ended.
  void note_skipped(int64_t step);
  void note_ended(const SaveTicket& ticket);
  void write_curves(int64_t step, std::vector<Scalar> scalars);

  CheckpointSaverHookOptions options_;
  const Writing writing_;
  SecondOrStepTimer timer_;
  bool step_rejected_ = false;  // The last step.
  bool nothing_logged_ = false;
  const Graph* graph_ = nullptr;  // From begin on.
  std::shared_ptr<Saver> saver_;  // From the first session on, unless the scaffold has it.
  Output step_;
  std::string metric_name_;
  Fetches metric_;  // Empty: none.
  bool metric_requested_ = false;
  int64_t next_step_ = 0;                 // What the next run is likely to complete.
  std::map<std::string, int64_t> noted_;  // The step of each source's point that was noted last.
  std::shared_ptr<void> locks_;           // Held for as long as something is written.
  std::shared_ptr<SummaryWriter> writer_;
  SaveStatistics statistics_;
  std::map<int64_t, double> blocked_secs_;  // By step, until the save has ended.
  std::optional<Clock::TimePoint> deadline_;
  // The step whose save began last, if it has not failed.
  std::optional<int64_t> last_saved_step_;
  std::unique_ptr<BackgroundSaver> background_;  // From the first save on.
  std::exception_ptr last_error_;                // Why the last save that ended failed.
  std::exception_ptr untold_error_;              // With kStop: what is to be thrown next.
  std::string left_unsaved_;                     // Why the last step is not, for want of time.
};

}  // namespace crochet
