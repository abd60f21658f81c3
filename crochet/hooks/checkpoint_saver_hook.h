// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/session/session.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/scaffold.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// How a run saves, whatever it saves and whenever.
struct SavingOptions {
  // Metrics of evaluations, for SaverOptions::keep_best: recorded with the checkpoint of the step
  // that they belong to, even if they arrive later. A value of the graph or loop that keep_best
  // names needs no source.
  std::vector<MetricSource> metrics = {};
  // What to do with a save that is due while another one is being written, and with one that fails.
  // CheckpointSaverHook's saves never overlap, and it throws errors.
  SaveOverlapPolicy overlap = SaveOverlapPolicy::kWait;
  SaveErrorPolicy on_error = SaveErrorPolicy::kContinue;
  // The most seconds the run may take for its last saves, from the signal that ends it, or else
  // from its end; choose less than the grace period after SIGTERM. The last save is started only if
  // it is expected to finish in time. If they take longer, the run throws a DeadlineExceededError
  // that names what is unsaved (see AsyncCheckpointSaverHook). Unset: no limit.
  std::optional<double> deadline_secs = {};
  // Whether to lock the directories that checkpoints are written to, so that a second run in one of
  // them is an error. false only for a file system that has no locks: then nothing else may write
  // there.
  bool lock_directory = true;
};

namespace internal {

// Throws: InvalidArgumentError, which names the option by `path`, for a negative deadline, and as
// check_metrics().
CROCHET_EXPORT void check_options(const SavingOptions& options, const std::string& path);

}  // namespace internal

// Called around each save of a checkpoint hook, with the saved step, on the training thread.
// Derive from it and override what you need.
class CROCHET_EXPORT CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener() = default;

  virtual void begin() {}
  // Called before the snapshot is taken.
  virtual void before_save(Session& /*session*/, int64_t /*step*/) {}
  // Called once the checkpoint is published: at once by CheckpointSaverHook, before the next run by
  // AsyncCheckpointSaverHook. True asks to stop training. Not called for a save that failed.
  virtual bool after_save(Session& /*session*/, int64_t /*step*/) { return false; }
  // Called at the clean end, after the last save, with the last step.
  virtual void end(Session& /*session*/, int64_t /*step*/) {}
};

namespace internal {
class CheckpointMetrics;
class RankLayout;
class RunSaves;
class RunAgreement;
}  // namespace internal

// Exactly one of the intervals, or what chooses it, and at most one of saver and scaffold is set;
// with neither, the saver is the graph's (see register_saver()), or else one with default options.
struct CheckpointSaverHookOptions {
  std::string checkpoint_dir = {};
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  // See CheckpointOptions.
  std::optional<double> budget_percent = {};
  std::optional<double> mean_secs_between_failures = {};
  std::shared_ptr<Saver> saver = {};
  CheckpointBasename checkpoint_basename = "model.ckpt";
  // Its saver is used; it is looked up at each save.
  std::shared_ptr<Scaffold> scaffold = {};
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners = {};
  SavingOptions saving = {};
  // The most steps that one run makes. Unset: not known, and with save_steps the step is read after
  // each run; the engine makes a run of its own for that.
  std::optional<int64_t> steps_per_run = {};
  // Receives the figures of each save. Default: the writer of checkpoint_dir.
  std::shared_ptr<SummaryWriter> summary_writer = {};
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Saves a checkpoint "<checkpoint_dir>/<checkpoint_basename>-<step>" when a session is created,
// then every n steps or seconds, after runs in which that was requested
// (SessionRunContext::request_save), and at the end, while training waits. The step that was just
// restored is not written again; a step that a hook rejected (SessionRunContext::reject_step),
// because its loss is NaN for example, is not written at all.
//
// From begin to the end it holds the directory's lock, so that two runs cannot write into
// one directory. begin removes the files that a killed save left there.
//
// Each save adds a line, with the saved step, to metrics.jsonl: "checkpoint/seconds" (until it was
// published), "checkpoint/written_seconds", "checkpoint/durable_seconds",
// "checkpoint/blocked_seconds" (the time training waited), "checkpoint/steps_percent" (the part of
// the time since the last save that went into steps: RunTimes), "checkpoint/bytes" and
// "checkpoint/shared_bytes" (of these, not written again), and the counts
// "checkpoint/saved", "checkpoint/failed", "checkpoint/skipped" and "checkpoint/retries".
// TensorBoard gets three curves, in a group that it shows last: "~checkpoint/seconds",
// "~checkpoint/blocked_seconds" and "~checkpoint/steps_percent".
//
// With saving.deadline_secs = T, a save that is due after the signal that asks to end is left to
// the end. The last one is started only if it is expected, from the time earlier ones took, to
// finish within T seconds of the signal, or else of the start of the end; otherwise end() throws a
// DeadlineExceededError that names the step and the last published checkpoint. A save that has
// started is finished, however long it takes; AsyncCheckpointSaverHook does not wait for it.
//
// A save that fails throws from the run, and ends it.
class CROCHET_EXPORT CheckpointSaverHook : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for conflicting or missing options.
  explicit CheckpointSaverHook(CheckpointSaverHookOptions options);  // Misspelt? Name the type.
  CheckpointSaverHook(CheckpointSaverHook&& other) noexcept;
  ~CheckpointSaverHook() override;

  // Throws: FailedPreconditionError if another run holds the directory, if its state file is a
  // link, which no save replaces, or without a global step; InvalidArgumentError if the saver's
  // fallback directory is checkpoint_dir.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void before_end(Session& session) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  HookPlace place() const override { return HookPlace::kSaver; }
  std::string activity() const override;
  SaveableMap saveables() override;

  const SaveStatistics& statistics() const;
  // For programs that change their state between two steps: the end saves it again, though the last
  // step is saved.
  void record_changed_state();

 protected:
  enum class Writing { kWaits, kInBackground };
  CheckpointSaverHook(CheckpointSaverHookOptions options, Writing writing);
  bool is_for_chief() const override { return true; }

 private:
  const CheckpointSaverHookOptions& options() const;
  // After a run whose step is requested, or may be due.
  void save_if_due(SessionRunContext& context);
  // Takes a snapshot of `step` and writes it, or queues it. `overlap` decides what happens if
  // another one is still being written. True if a listener asks to stop.
  bool save(Session& session, int64_t step, SaveOverlapPolicy overlap);
  void save_last(Session& session, int64_t step);
  // Record the metric of keep_best, and new points of the other metrics, with the checkpoint.
  void record_metric(Session& session, int64_t step);
  void record_points(int64_t step);

  SecondOrStepTimer timer_;
  const std::optional<int64_t> steps_per_run_;
  bool step_rejected_ = false;         // Of the last step.
  std::optional<int64_t> stale_step_;  // Before the last run.
  int64_t next_step_ = 0;              // The step that the next run is likely to complete.
  // Whether before_end() has saved the last step; kBegun also if it has failed.
  enum class LastSave { kNotBegun, kBegun, kMade };
  LastSave last_save_ = LastSave::kNotBegun;
  bool metric_is_late_ = false;  // It is computed after the last save.
  // Null if the graph's state needs no other rank. From begin on.
  std::shared_ptr<const internal::RunAgreement> agreement_;
  std::unique_ptr<internal::CheckpointMetrics> metrics_;
  std::unique_ptr<internal::RunSaves> saves_;
};

// Saves checkpoints as CheckpointSaverHook does, but without stopping training: a snapshot of the
// state is taken between two steps and written by another thread.
//
// The checkpoint of step n holds the state of the variables, objects and hooks after
// exactly n steps, whatever training does meanwhile. A save that fails is retried, logged
// and counted, and training continues (with saving.on_error = kStop the next run throws the error);
// if the last due save fails, end() throws its error. A save that is due while another is running
// waits for it, so none is lost, unless `saving.overlap` chooses otherwise; the last one is never
// skipped.
//
// With saving.deadline_secs = T, a run ends within T seconds of the signal that asked it to end, or
// else of the start of its end. The running save is finished; the last one is started only if it is
// expected, from the time earlier ones took, to finish as well. A save that is due after the signal
// is left to the end. If something is unsaved when time is up, end() throws a
// DeadlineExceededError that names it and the last published checkpoint. The writing thread then
// continues, with the snapshot and the directory's lock, for as long as the process lives; it uses
// only the file system and the clock.
//
// Listeners are called on the training thread, after_save before the next run; they can stop
// training.
class CROCHET_EXPORT AsyncCheckpointSaverHook final : public CheckpointSaverHook {
 public:
  explicit AsyncCheckpointSaverHook(CheckpointSaverHookOptions options)  // Misspelt? Name the type.
      : CheckpointSaverHook(std::move(options), Writing::kInBackground) {}

  int64_t num_saved() const { return statistics().saved; }
  int64_t num_failed() const { return statistics().failed; }
  // Due saves that were not made: with kSkip because another one was being written, with
  // kNewestWins because a newer one replaced them.
  int64_t num_skipped() const { return statistics().skipped; }
};

}  // namespace crochet::inline v0
