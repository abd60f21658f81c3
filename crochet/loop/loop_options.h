// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// All options of a Loop, as a tree. Intervals: unset is the default, 0 is off; of a pair, setting
// one switches the other's default off, and setting both is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/group/group.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/io/file_system.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// Where and when a run saves its state.
struct CheckpointOptions {
  // The directory of the run: also of TensorBoard's event files and metrics.jsonl, unless
  // SummaryOptions::dir names another one. Empty: nothing is saved.
  std::string dir = {};
  CheckpointBasename basename = "model.ckpt";
  std::optional<int64_t> every_steps = {};
  std::optional<double> every_secs = {};  // Default: 600.
  // Instead of an interval: it is chosen, and changed during the run, so that saves cost
  // training that part of its time: while it waits for them, and by how much its steps are slower
  // meanwhile. Between a second, or the time that a save takes, and an hour. The log says what was
  // chosen and why.
  std::optional<double> budget_percent = {};
  // The time between two failures of the run, in seconds: then the interval is the one with which
  // the least time is lost to saves and to steps that are made again, sqrt(2 * cost of a save *
  // mean_secs_between_failures). Default with a budget: what the run's journal says of two failures
  // or more.
  std::optional<double> mean_secs_between_failures = {};
  // A directory in memory, such as /dev/shm, or on a fast disk of this machine, in which the newest
  // checkpoint is kept as well, more often than the disk could: in a folder of its own for each
  // run. A start continues from it if it is newer than those in `dir` and of the run's last life:
  // after a kill or a crash of the program, not of the machine. Needs room for two checkpoints;
  // freed when the run ends. Not with a group. Empty: none.
  std::string fast_dir = {};
  std::optional<int64_t> fast_every_steps = {};
  std::optional<double> fast_every_secs = {};  // Default: 30.
  // Called around each save.
  std::vector<std::shared_ptr<CheckpointSaverListener>> listeners = {};
  // How many threads copy the tracked state for a save, including the training thread; 0: one per
  // core, at most 4.
  int copy_threads = 0;
  SavingOptions saving = {};
  // What checkpoints consist of, and which are kept. `files` and `clock`: the run's, if null. A
  // loop has no graph of the program's own: what is only for those (writer, unsaved_state,
  // write_meta_graph, allow_empty, defer_build) is refused.
  SaverOptions saver = {};
};

// The curves of a run, for TensorBoard and metrics.jsonl. They also have the first step and the
// last one.
struct SummaryOptions {
  // Default: CheckpointOptions::dir.
  std::string dir = {};
  std::optional<int64_t> every_steps = {};
  std::optional<double> every_secs = {};  // Default: 2.
  // The interval of counting the steps per second. The log has that rate every 10 s at most.
  std::optional<int64_t> count_every_steps = {};
  std::optional<double> count_every_secs = {};  // Default: 2.
};

// The other processes that train the same model.
struct RankOptions {
  // Runs as one rank of a group: all ranks make the same steps, stop after the same one, recover
  // together and restore the same checkpoint; the chief, rank 0, saves it and writes the curves.
  // See docs/distributed.md. Null: alone.
  std::shared_ptr<Group> group = {};
  // The ranks agree whether to stop after each n-th step, and after the last one that a hook knows.
  int64_t agree_every_n_steps = 1;
  // How long a rank waits for the others: longer than a step, an evaluation, and the chief's
  // restores and last save.
  double timeout_secs = 1800;
};

// How a run ends, and whether it has.
struct EndOptions {
  // When the process is ended from outside, in seconds since 1970-01-01 UTC: the run ends before
  // it, early enough for a step and a last save that take as long as those before. Default: the end
  // of the allocation, in a job of Slurm (SLURM_JOB_END_TIME). 0: never.
  std::optional<double> deadline = {};
  // How long threads of hooks may continue once the run has ended.
  double stop_grace_period_secs = 120;
  // Whether the body changes nothing that is tracked before it may throw: then an error of it ends
  // the run with the last completed step saved, as an error of `compute` of two parts always does.
  bool save_on_error = false;
  // Trains on where the run has ended by itself, because the body or an early stopping hook ended
  // it. By default, such a run makes no further step however often it is started. To continue a run
  // that reached its last step, set a higher one.
  bool continue_finished = false;
};

// To find mistakes in a program.
struct DebugOptions {
  // Rehearses a resume before the first step: makes this number of steps twice from the same state,
  // the second time from a checkpoint of it, as a process that is started again would, and ends the
  // run with a FailedPreconditionError that names the first tracked value that differs then. The
  // run begins as if nothing had happened, except for what the body does to what is not tracked. It
  // takes that time at each start; `crochet rehearse` tests the whole program instead. Needs a
  // directory, which must have room for three checkpoints more. Not with a group. 0: none.
  int64_t rehearsal_steps = 0;
  // Fails a save, naming the array, if one was changed while it was copied: by another thread, or
  // by the `compute` of a step in two parts. Ends the run if one was changed without an
  // announcement to its barrier, then or since the last save. Each save blocks training while it
  // computes a checksum of the state, and nothing counts as unchanged without a comparison.
  bool check_torn_snapshots = false;
};

// What a loop does in addition to its steps.
struct LoopOptions {
  CheckpointOptions checkpoint = {};
  // With what the run starts, and how checkpoints may differ from what it tracks.
  RestoreOptions restore = {};
  SummaryOptions summaries = {};
  RankOptions ranks = {};
  HookList hooks = {};
  // How many times in a row the run recovers from an AbortedError or UnavailableError without
  // getting past the step that failed.
  int max_recoveries = 3;
  EndOptions ending = {};
  DebugOptions debug = {};
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

}  // namespace crochet::inline v0
