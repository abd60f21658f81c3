// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/loop/loop_options.h"
#include "crochet/loop/run_report.h"
#include "crochet/training/monitored_session.h"

namespace crochet::inline v0 {

// What a training run does in addition to its steps: the parameters of Python's
// MonitoredTrainingSession, by their names there, and what crochet adds. Intervals: unset is the
// default, 0 is off; of a pair, setting one switches the other's default off, and setting both is
// an error.
struct MonitoredTrainingSessionOptions {
  Graph& graph;  // Not owned; outlives the run.
  // Where the session runs; see Graph::new_session.
  std::string master = {};
  // The chief initialises or restores, saves and writes summaries; exactly one process of a cluster
  // is the chief. The others wait for it, and have only the hooks of `hooks`.
  bool is_chief = true;
  RankOptions ranks = {};
  // Checkpoints are written here and restored from here. Empty: nothing is saved.
  std::string checkpoint_dir = {};
  CheckpointBasename checkpoint_basename = "model.ckpt";
  // If null, one with all defaults; a saver is added if it has none.
  std::shared_ptr<Scaffold> scaffold = {};
  HookList hooks = {};
  HookList chief_only_hooks = {};
  std::optional<int64_t> save_checkpoint_steps = {};
  std::optional<double> save_checkpoint_secs = {};  // Default: 600.
  // Called around each save.
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners = {};
  SavingOptions saving = {};
  // For the saver that is created if neither the scaffold nor the graph has one, in any case with
  // allow_empty. `files` and `clock`: the run's, if null.
  SaverOptions saver = {};
  std::optional<int64_t> save_summaries_steps = {};  // Default: 100.
  std::optional<double> save_summaries_secs = {};
  std::optional<int64_t> log_step_count_steps = {};  // Default: 100.
  std::string summary_dir = {};                      // Default: checkpoint_dir.
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

// Throws: InvalidArgumentError, which names the option, for one that is out of range or excludes
// another.
CROCHET_EXPORT void check_options(const MonitoredTrainingSessionOptions& options);

// Python's `with MonitoredTrainingSession(...) as session`: creates the session, which is restored,
// initialised or waited for, calls the body, ends the hooks and closes the session.
//
//   const RunReport report = train({.graph = graph,
//                                   .checkpoint_dir = "runs/x",
//                                   .hooks = {StopAtStepHook({.last_step = 500})}},
//                                  [&](MonitoredSession& session) {
//                                    while (!session.should_stop()) session.run(train_op);
//                                  });
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
