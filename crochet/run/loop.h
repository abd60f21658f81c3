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
#include "crochet/base/export.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/checkpoint_saver_listener.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/io/file_system.h"
#include "crochet/monitor/hook_list.h"
#include "crochet/monitor/scaffold.h"
#include "crochet/run/monitored_training_session.h"
#include "crochet/run/run_report.h"
#include "crochet/run/tracker.h"
#include "crochet/tensor/to_tensor.h"

namespace crochet::inline v0 {

namespace internal {
struct EarlyRestore;
}  // namespace internal

// What a loop does in addition to its steps. Intervals: unset is the default, 0 is off; of a
// pair, setting one switches the other's default off, and setting both is an error.
struct LoopOptions {
  // For the checkpoints, TensorBoard's event files and metrics.jsonl. Empty: nothing is written.
  std::string checkpoint_dir = {};
  std::string checkpoint_basename = "model.ckpt";
  CheckpointFormat checkpoint_format = CheckpointFormat::kTensorBundle;
  std::optional<int64_t> save_checkpoint_steps = {};
  std::optional<double> save_checkpoint_secs = {};  // Default: 600.
  // Called around each save.
  std::vector<std::shared_ptr<CheckpointSaverListener>> saving_listeners = {};
  // Metrics of evaluations, recorded with the checkpoints for keep_best. A value of the loop
  // that keep_best names needs no source.
  std::vector<MetricSource> checkpoint_metrics = {};
  // What to do with a save that is due while another one is being written, and with one that fails.
  SaveOverlapPolicy save_overlap = SaveOverlapPolicy::kWait;
  SaveErrorPolicy on_save_error = SaveErrorPolicy::kContinue;
  // The fallback directory, for checkpoints that cannot be written into checkpoint_dir; they are
  // restored from it, too. Use another disk, and a directory of this run alone. Empty: none.
  std::string fallback_dir = {};
  // The most seconds the run may take for its last saves, from the signal that ends it, or else
  // from its end; choose less than the grace period after SIGTERM. If they take longer, the run
  // throws a DeadlineExceededError that names what is unsaved (see AsyncCheckpointSaverHook).
  // Unset: no limit.
  std::optional<double> deadline_secs = {};
  // How many of the newest checkpoints are kept; 0 keeps all.
  int max_to_keep = 5;
  // Of the older ones, keep forever: one every n hours, and the first at or after each
  // multiple of n steps.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  std::optional<int64_t> keep_checkpoint_every_n_steps = {};
  // Also keep those that are the best by a metric, as long as they are: a scalar of the loop, or
  // one of checkpoint_metrics.
  std::optional<KeepBest> keep_best = {};
  std::optional<int64_t> save_summaries_steps = {};  // Default: 100.
  std::optional<double> save_summaries_secs = {};
  std::optional<int64_t> log_step_count_steps = {};  // Default: 100.
  // For the event files and metrics.jsonl. Default: checkpoint_dir.
  std::string summary_dir = {};
  HookList hooks = {};
  // How long threads of hooks may continue once the run has ended.
  double stop_grace_period_secs = 120;
  // How many times in a row the run recovers from an AbortedError or UnavailableError without
  // getting past the step that failed.
  int max_recoveries = 3;
  // How many threads copy the tracked state for a save, including the training thread; 0: one per
  // core, at most 4.
  int copy_threads = 0;
  // Fails a save, naming the array, if one was changed while it was copied: by another thread, or
  // by the `compute` of a step in two parts. For debugging: each save blocks training while it
  // computes a checksum of the state.
  bool check_torn_snapshots = false;
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// The current step, for callables that take it as a parameter.
class CROCHET_EXPORT Step {
 public:
  // Counts from 1: during step n, n-1 steps are completed.
  int64_t number() const { return number_; }
  // Ends the run after this step.
  void request_stop(std::string reason) { stop_ = std::move(reason); }

 private:
  friend class Loop;
  int64_t number_ = 0;
  std::optional<std::string> stop_;
};

// Adds hooks, checkpoints and resuming to an existing training loop:
//
//   Loop loop({.checkpoint_dir = "runs/digits", .hooks = {StopAtStepHook({.last_step = 2000})}});
//   loop.track("model", model);                            // survives
//   loop.scalar("loss", [&] { return gradients.loss; });   // for hooks, and a curve
//   const RunReport report = loop.run([&] { ... });        // one step
//
// The next run of the program resumes from the last checkpoint of this one, however it ended.
//
// For one thread. Tracked values, and the values that callables use, must outlive run(). Callables
// and hooks must not call the loop: its functions throw a FailedPreconditionError then.
class CROCHET_EXPORT Loop {
 public:
  // Throws: InvalidArgumentError for conflicting options.
  explicit Loop(LoopOptions options);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Saves and restores `value` under `name`, or "<name>/<part>". See tracker.h for its type.
  template <typename T>
  void track(std::string_view name, T&& value) {
    check_not_run("track");
    tracker_(name, std::forward<T>(value));
  }

  // Adds a real number that hooks may fetch, and a curve. Computed after the step, only
  // in steps in which a hook fetches it. May return a std::optional: empty for no value in this
  // step.
  template <typename Compute>
  void scalar(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), kSummariesCollection);
  }
  // The same for a tensor of any shape; TensorBoard shows the distribution of its elements.
  template <typename Compute>
  void histogram(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), kHistogramSummariesCollection);
  }
  // The same for a text in Markdown, or a vector of strings, shown as a table.
  template <typename Compute>
  void text(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), kTextSummariesCollection);
  }
  // The same for a tensor of any shape, for hooks only.
  template <typename Compute>
  void value(std::string name, Compute compute) {
    add_value(std::move(name), std::move(compute), {});
  }

  void add_hook(HookHandle hook);

  // Restores the newest checkpoint now, for programs that need its state before run(), and
  // returns its step; returns 0 and changes nothing if there is none. run() then continues from the
  // tracked values as they are when it is called, including changes since restore(), and reads only
  // the step and the state of hooks from that checkpoint. Requires: everything is tracked already.
  int64_t restore();

  // Makes steps by calling `body` until a hook, a signal or `body` asks to stop. A save
  // copies the tracked state between two steps. May be called once.
  //
  // An OutOfRangeError or StopIteration from the body ends the run cleanly, at the last completed
  // step: it must be thrown before anything tracked is changed. An AbortedError or UnavailableError
  // restores the last checkpoint and continues. Any other exception ends the run and is rethrown.
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
  // `collection` is empty for values that are not summaries.
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
  std::unique_ptr<const internal::EarlyRestore> restored_;  // By restore().
  bool has_run_ = false;
  bool is_restoring_ = false;
};

}  // namespace crochet::inline v0
