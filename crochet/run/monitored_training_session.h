// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/layout/checkpoint_basename.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/group/group.h"
#include "crochet/hooks/checkpoint_saver_listener.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/io/file_system.h"
#include "crochet/monitor/monitored_session.h"
#include "crochet/run/run_report.h"

namespace crochet::inline v0 {

// What a training run does in addition to its steps. Intervals: unset is the default, 0 is off; of
// a pair, setting one switches the other's default off, and setting both is an error.
struct MonitoredTrainingSessionOptions {
  Graph& graph;  // Not owned; outlives the run.
  // Where the session runs; see Graph::new_session.
  std::string master = {};
  // The chief initialises or restores, saves and writes summaries; exactly one process of a cluster
  // is the chief. The others wait for it, and have only the hooks of `hooks`.
  bool is_chief = true;
  // Runs as one rank of a group: all ranks make the same steps, stop after the same one, recover
  // together and restore the same checkpoint; the chief, rank 0, saves it and writes the curves.
  // See docs/distributed.md. Null: alone.
  std::shared_ptr<Group> group = {};
  // The ranks agree whether to stop after each n-th step, and after the last one that a hook knows.
  int64_t agree_every_n_steps = 1;
  // How long a rank waits for the others: longer than a step, an evaluation, and the chief's
  // restores and last save.
  double group_timeout_secs = 1800;
  // Checkpoints are written here and restored from here. Empty: nothing is saved.
  std::string checkpoint_dir = {};
  CheckpointBasename checkpoint_basename = "model.ckpt";
  // The format of the saver that is created if neither the scaffold nor the graph has one.
  CheckpointFormat checkpoint_format = CheckpointFormat::kTensorBundle;
  // For that saver, too: whether checkpoints may lack state of the graph, such as iterators.
  UnsavedState unsaved_state = UnsavedState::kRefuse;
  // If null, one with all defaults; a saver is added if it has none.
  std::shared_ptr<Scaffold> scaffold = {};
  HookList hooks = {};
  HookList chief_only_hooks = {};
  std::optional<int64_t> save_checkpoint_steps = {};
  std::optional<double> save_checkpoint_secs = {};  // Default: 600.
  // Called around each save.
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners = {};
  // Metrics of evaluations, recorded with the checkpoints for keep_best. A value of the graph that
  // keep_best names needs no source.
  std::vector<MetricSource> checkpoint_metrics = {};
  // What to do with a save that is due while another one is being written, and with one that fails.
  SaveOverlapPolicy save_overlap = SaveOverlapPolicy::kWait;
  SaveErrorPolicy on_save_error = SaveErrorPolicy::kContinue;
  // The fallback directory, for checkpoints that cannot be written into checkpoint_dir; they are
  // restored from it, too. Use another disk, and a directory of this run alone. Empty: none.
  std::string fallback_dir = {};
  // Whether to lock checkpoint_dir and fallback_dir, so that a second run in one of them is an
  // error. false only for a file system that has no locks: then nothing else may write there.
  bool lock_directory = true;
  // The most seconds the run may take for its last saves, from the signal that ends it, or else
  // from its end; choose less than the grace period after SIGTERM. If they take longer, the run
  // throws a DeadlineExceededError that names what is unsaved (see AsyncCheckpointSaverHook).
  // Unset: no limit.
  std::optional<double> deadline_secs = {};
  // The next six are for a saver that is created, too: which checkpoints it keeps, whether it
  // records the command line, and whether they share what did not change. See SaverOptions.
  int max_to_keep = 5;
  std::optional<double> keep_checkpoint_every_n_hours = {};
  std::optional<int64_t> keep_checkpoint_every_n_steps = {};
  std::optional<KeepBest> keep_best = {};
  bool record_command_line = true;
  bool share_unchanged = true;
  std::optional<int64_t> save_summaries_steps = {};  // Default: 100.
  std::optional<double> save_summaries_secs = {};
  bool save_summaries_at_end = false;  // See SummarySaverHook: not for summaries that need feeds.
  std::optional<int64_t> log_step_count_steps = {};  // Default: 100.
  std::optional<double> log_step_count_secs = {};
  std::string summary_dir = {};  // Default: checkpoint_dir.
  // The engine's settings for the session.
  SessionConfig config = {};
  // How long threads of hooks may continue once the session is closed.
  double stop_grace_period_secs = 120;
  // How long a process that is not the chief waits for the model to be ready, and how often it
  // checks.
  double max_wait_secs = 7200;
  double recovery_wait_secs = 30;
  // How many times in a row the run recovers from an AbortedError or UnavailableError without
  // getting past the step that failed.
  int max_recoveries = 3;
  // Called before each recovery. Empty: a recovery is always possible, with a fresh start without
  // a checkpoint.
  std::function<bool()> can_recover = {};
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// Throws: InvalidArgumentError for intervals that are negative or exclude each other, a
// negative grace period, wait or number of recoveries, a recovery_wait_secs, agree_every_n_steps or
// group_timeout_secs that is not above 0, or is_chief = false with a group.
CROCHET_EXPORT void check_options(const MonitoredTrainingSessionOptions& options);

// Python's `with MonitoredTrainingSession(...) as session`: creates the session, which is restored,
// initialised or waited for, calls the body, ends the hooks and closes the session.
//
//   const RunReport report = train(
//       {.graph = graph, .checkpoint_dir = "runs/x", .hooks = {StopAtStepHook({.last_step =
//       500})}},
//       [&](MonitoredSession& session) {
//         while (!session.should_stop()) session.run(train_op);
//       });
//
// Checkpoints are written in the background; the last one is complete when this returns.
// The order of hooks: the chief's own, steps per second, summaries, the user's, the saver,
// and those that guard it. The report is logged, too.
//
// Throws: as check_options; what creating the session throws; what the body throws, except
// OutOfRangeError and StopIteration, which end the run cleanly; then what ending the run throws.
CROCHET_EXPORT RunReport train(const MonitoredTrainingSessionOptions& options,
                               const std::function<void(MonitoredSession& session)>& body);

}  // namespace crochet::inline v0
