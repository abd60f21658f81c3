// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/checkpoint_saver_listener.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/io/file_system.h"
#include "crochet/monitor/hook_list.h"
#include "crochet/monitor/scaffold.h"
#include "crochet/run/continued_session_creator.h"
#include "crochet/run/monitored_training_session.h"
#include "crochet/run/run_report.h"
#include "crochet/run/tracker.h"
#include "crochet/tensor/to_tensor.h"

namespace crochet {

// What a loop does besides the steps. Intervals: unset is the default, 0 is off; of a
// pair, giving one switches the other's default off.
struct LoopOptions {
  // Holds the checkpoints, TensorBoard's event files and metrics.jsonl. Empty: nothing is kept.
  std::string checkpoint_dir = {};
  std::string checkpoint_basename = "model.ckpt";
  CheckpointFormat checkpoint_format = CheckpointFormat::kTensorBundle;
  std::optional<int64_t> save_checkpoint_steps = {};
  std::optional<double> save_checkpoint_secs = {};  // Default: 600.
  // Called around the saves of these.
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners = {};
  // Recorded with the checkpoints, for keep_best: what an evaluation finds. A value of the graph
  // that keep_best names needs no source.
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
  // How many of the newest checkpoints stay; 0 keeps all.
  int max_to_keep = 5;
  // Of the others, those that stay forever: one of every n hours, and the first at or after each
  // multiple of n steps.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  std::optional<int64_t> keep_checkpoint_every_n_steps = {};
  // And those that are the best by a metric, as long as they are: a scalar of the loop, or one of
  // checkpoint_metrics.
  std::optional<KeepBest> keep_best = {};
  std::optional<int64_t> save_summaries_steps = {};  // Default: 100.
  std::optional<double> save_summaries_secs = {};
  std::optional<int64_t> log_step_count_steps = {};  // Default: 100.
  // For the events and metrics.jsonl; default: checkpoint_dir.
  std::string summary_dir = {};
  HookList hooks = {};
  // How long threads of hooks may go on once the run has ended.
  double stop_grace_period_secs = 120;
  // How often an AbortedError or UnavailableError is recovered from without getting past
  // the step that failed.
  int max_recoveries = 3;
  // How many threads copy what is tracked for a save, the training thread among them; 0: one a
  // core, at most 4.
  int copy_threads = 0;
  // Fails a save, with the name of the array, if it was changed while it was copied: by another
  // thread, or by `compute` of a step in two parts. For debugging: each save stops training for as
  // long as a checksum of the state takes.
  bool check_torn_snapshots = false;
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// The step that is being made, for callables that want to know.
class Step {
 public:
  // Counts from 1: while step n is being made, n-1 are completed.
  int64_t number() const { return number_; }
  // Ends the run after this step.
  void request_stop(std::string reason) { stop_ = std::move(reason); }

 private:
  friend class Loop;
  int64_t number_ = 0;
  std::optional<std::string> stop_;
};

// Puts hooks, checkpoints and resuming around a training loop that exists already:
//
//   Loop loop({.checkpoint_dir = "runs/digits", .hooks = {StopAtStepHook({.last_step = 2000})}});
//   loop.track("model", model);                            // survives
//   loop.scalar("loss", [&] { return gradients.loss; });   // for hooks, and a curve
//   const RunReport report = loop.run([&] { ... });        // one step
//
// The next run of the program goes on where this one ended, or was killed.
//
// For one thread. What is tracked, and what the callables use, must outlive run(). What it calls
// may not call it: its functions throw a FailedPreconditionError then.
class Loop {
 public:
  // Throws: InvalidArgumentError for conflicting options.
  explicit Loop(LoopOptions options);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Saves and restores `value` under `name`, or "<name>/<part>"; see tracker.h for what it may be.
  template <typename T>
  void track(std::string_view name, T&& value) {
    check_not_run("track");
    tracker_(name, std::forward<T>(value));
  }

  // A real number that hooks may ask for, and a curve. Computed after the step, only
  // in steps where somebody asks. May return a std::optional: empty is "not in this step".
  template <typename Compute>
  void scalar(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), kSummariesCollection);
  }
  // The same for a tensor of any shape, of whose elements TensorBoard shows the distribution.
  template <typename Compute>
  void histogram(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), kHistogramSummariesCollection);
  }
  // The same for a text in Markdown, or a vector of strings: a table.
  template <typename Compute>
  void text(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), kTextSummariesCollection);
  }
  // The same for a tensor of any shape, for hooks alone.
  template <typename Compute>
  void value(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), {});
  }

  void add_hook(HookHandle hook);

  // Restores the newest checkpoint now, for programs that need its state before run(), and
  // returns its step; 0, and no change, if there is none. run() then continues from what is tracked
  // as it is when it is called, changes since restore() included, and takes only the step and the
  // state of hooks from that checkpoint. Requires: all is tracked already.
  int64_t restore();

  // Makes steps by calling `body` until a hook, a signal or `body` asks to stop. A save
  // copies what is tracked between two steps. Once a loop.
  //
  // An OutOfRangeError or StopIteration from the body ends the run cleanly, at the last completed
  // step: it must be thrown before anything tracked is changed. An AbortedError or UnavailableError
  // restores the last checkpoint and goes on. Anything else ends the run and is rethrown.
  template <typename Body>
  RunReport run(Body body) {
    return run_steps({}, as_callable(std::move(body)));
  }
  // The same in two parts: tracked arrays change only in `update`, so that a save copies them
  // while the next `compute` runs. Numbers, generators, objects and containers that
  // can grow may change in either.
  template <typename Compute, typename Update>
  RunReport run(Compute compute, Update update) {
    return run_steps(as_callable(std::move(compute)), as_callable(std::move(update)));
  }

 private:
  using Callable = std::function<void(Step&)>;

  template <typename Body>
  static Callable as_callable(Body body) {
    if constexpr (std::is_invocable_v<Body&, Step&>) {
      return body;
    } else {
      return [body = std::move(body)](Step&) mutable { body(); };
    }
  }

  MonitoredTrainingSessionOptions training_options();
  void check_not_run(const char* what) const;
  // `collection` is empty for what is no summary.
  template <typename Compute>
  void add_value(std::string name, Compute compute, std::string_view collection) {
    check_not_run("value");
    values_.push_back({std::move(name),
                       [compute = std::move(compute)]() mutable { return to_tensor(compute()); },
                       collection});
  }
  Operation add_step(const Callable& compute, const Callable& update);
  RunReport run_steps(const Callable& compute, const Callable& update);
  std::set<std::string, std::less<>> tracked_names() const;

  LoopOptions options_;
  std::shared_ptr<Scaffold> scaffold_;
  local::Graph graph_;
  const Variable global_step_;
  Tracker tracker_;
  struct Value {
    std::string name;
    std::function<Tensor()> compute;
    std::string_view collection;
  };
  std::vector<Value> values_;
  Step step_;
  std::optional<internal::EarlyRestore> restored_;  // By restore().
  bool has_run_ = false;
  bool is_restoring_ = false;
};

}  // namespace crochet
