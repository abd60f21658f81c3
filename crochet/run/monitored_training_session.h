// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/hooks/checkpoint_saver_listener.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/io/file_system.h"
#include "crochet/monitor/monitored_session.h"
#include "crochet/run/run_report.h"

namespace crochet {

// What a training run does besides its steps. Intervals: unset is the default, 0 is off; of
// a pair, giving one switches the other's default off, and giving both is an error.
struct MonitoredTrainingSessionOptions {
  Graph& graph;  // Not owned; outlives the run.
  // Where the session runs; see Graph::new_session.
  std::string master = {};
  // The chief initialises or restores, saves and writes summaries; of a cluster's processes
  // one is. The others wait for it, and have the hooks of `hooks` only.
  bool is_chief = true;
  // Holds the checkpoints, and is restored from. Empty: nothing is kept.
  std::string checkpoint_dir = {};
  std::string checkpoint_basename = "model.ckpt";
  // Of the saver that is made if neither the scaffold nor the graph has one.
  CheckpointFormat checkpoint_format = CheckpointFormat::kTensorBundle;
  // Of that saver, too: whether checkpoints may lack state of the graph, such as iterators.
  UnsavedState unsaved_state = UnsavedState::kRefuse;
  // One with all defaults if null; a saver is added if it has none.
  std::shared_ptr<Scaffold> scaffold = {};
  HookList hooks = {};
  HookList chief_only_hooks = {};
  std::optional<int64_t> save_checkpoint_steps = {};
  std::optional<double> save_checkpoint_secs = {};  // Default: 600.
  // Called around the saves of these.
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners = {};
  // Recorded with the checkpoints, for keep_best of the scaffold's saver: what an evaluation finds.
  // A value of the graph that keep_best names needs no source.
  std::vector<MetricSource> checkpoint_metrics = {};
  // What becomes of a save that is due while another one is being written, and of one that cannot
  // be written.
  SaveOverlapPolicy save_overlap = SaveOverlapPolicy::kWait;
  SaveErrorPolicy on_save_error = SaveErrorPolicy::kContinue;
  // Where checkpoints go that cannot be written into checkpoint_dir, and are restored from, too: on
  // another disk, of this run alone. Empty: nowhere.
  std::string fallback_dir = {};
  // How long the run may take to save what there is, from the signal that ends it, or from its
  // end: less than the time that SIGTERM leaves. What does not fit in is left, and the run
  // throws a DeadlineExceededError (see AsyncCheckpointSaverHook). Unset: as long as it takes.
  std::optional<double> deadline_secs = {};
  std::optional<int64_t> save_summaries_steps = {};  // Default: 100.
  std::optional<double> save_summaries_secs = {};
  std::optional<int64_t> log_step_count_steps = {};  // Default: 100.
  std::string summary_dir = {};                      // Default: checkpoint_dir.
  // How the engine is to run the session.
  SessionConfig config = {};
  // How long threads of hooks may go on once the session is closed.
  double stop_grace_period_secs = 120;
  // How long a process that is not the chief waits for it, and how long between two looks at
  // whether it is ready.
  double max_wait_secs = 7200;
  double recovery_wait_secs = 30;
  // How often an AbortedError or UnavailableError is recovered from without getting past
  // the step that failed.
  int max_recoveries = 3;
  // Asked before each recovery; empty: always possible, with a fresh start if there is no
  // checkpoint.
  std::function<bool()> can_recover = {};
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// Throws: InvalidArgumentError for intervals that are negative or exclude each other, a
// negative grace period, wait or number of recoveries, or a recovery_wait_secs that is not above 0.
void check_options(const MonitoredTrainingSessionOptions& options);

// Python's `with MonitoredTrainingSession(...) as session`: creates the session, restored,
// initialised or waited for, calls the body, ends the hooks and closes.
//
//   const RunReport report = train(
//       {.graph = graph, .checkpoint_dir = "runs/x", .hooks = {StopAtStepHook({.last_step =
//       500})}},
//       [&](MonitoredSession& session) {
//         while (!session.should_stop()) session.run(train_op);
//       });
//
// Checkpoints are written in the background; the last one is complete when this returns.
// Hooks come in the order: the chief's own, steps per second, summaries, the user's, the saver,
// and those that guard it. What the report says is in the log, too.
//
// Throws: as check_options; what the session's creation throws; what leaves the body, but for
// OutOfRangeError and StopIteration, which end the run cleanly; then what ending it throws.
RunReport train(const MonitoredTrainingSessionOptions& options,
                const std::function<void(MonitoredSession& session)>& body);

}  // namespace crochet
