// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/session/graph.h"
#include "crochet/training/internal/run_trace.h"
#include "crochet/training/internal/time_view.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// What a process does beside its steps.
enum class TimeKind {
  kSetup,       // Creating sessions, with their restores, and waiting before a recovery.
  kSaving,      // Training waits for a save.
  kEvaluation,  // Evaluations within the run.
  kWaiting,     // For other ranks, until they agree.
};
inline constexpr size_t kNumTimeKinds = 4;

// Where the time of a run goes, in this process. What a TimeKind names is measured each time; hooks
// and the engine in every run that takes long, and among short ones in a sample at random intervals
// whose weights are these intervals: so measuring costs about 0.2 %, and the sums are right on
// average. What remains of the whole time is the steps themselves.
//
// For the training thread, except as said below.
class CROCHET_EXPORT TimeLedger {
 public:
  // That of the runs of a graph, which owns it.
  static TimeLedger& of(Graph& graph);

  // A run of a program begins: nothing is counted yet. Requires: `clock` outlives the run.
  void begin(Clock& clock);

  // Spans are shown there from now on; null: nowhere. Until begin(). Requires: it outlives the run.
  void show_in(TimeView* view) { view_ = view; }

  // The step that the last session to be lost had reached.
  void set_lost_step(int64_t step) { lost_step_ = step; }
  int64_t lost_step() const { return lost_step_; }

  // From now on every run is measured, and each part of it is a span of the trace.
  void begin_trace();
  bool is_tracing() const { return trace_.is_on(); }
  Clock::Duration trace_time() const { return trace_.since_begin(now()); }
  std::vector<TraceSpan> take_trace() { return trace_.take(now()); }
  // As RunTrace::follow().
  void follow_save(const SaveTicket& ticket, Clock::TimePoint begin, Clock::TimePoint taken) {
    trace_.follow(ticket, begin, taken);
  }

  // While a save is being written, the engine's runs are counted apart.
  void set_saving(bool is_saving) { is_saving_ = is_saving; }

  // The hooks of the runs that follow, in their order. The same as before keep their times.
  void set_hooks(std::vector<std::string> names);
  // True if the run that begins now is to be measured: then begin_run() is called, then lap_hook()
  // after each call of a hook, begin_engine() and lap_engine() around the engine, and end_run().
  // A run that fails is not counted.
  bool is_due() { return --runs_to_next_ <= 0; }
  void begin_run();
  void lap_hook(size_t hook) { run_hooks_[hook] += lap(hook_names_[hook]); }
  void begin_engine() { lap({}); }
  void lap_engine() { run_engine_ = lap("run"); }
  void end_run();

  RunTimes times() const;

 private:
  friend class TimeSpan;
  // Of the engine.
  struct Runs {
    int64_t number = 0;
    Clock::Duration time = {};
  };

  Clock::TimePoint now() const { return clock_->now(); }
  void add(TimeKind kind, Clock::Duration duration) {
    times_[static_cast<size_t>(kind)] += duration;
    sum_ += duration;
  }
  void trace_span(TimeKind kind, Clock::TimePoint start, Clock::TimePoint end);
  // By how much the engine's runs have taken longer while a save was being written.
  double slowed_secs() const;
  // The time since the last lap, without what spans have counted. In a trace it is a span of that
  // name, unless that is empty.
  Clock::Duration lap(std::string_view name);

  // Spans within another one are part of it.
  bool begin_view(TimeKind kind, Clock::TimePoint start) {
    if (view_ == nullptr || view_->kind != 0 || kind == TimeKind::kWaiting) return false;
    view_->since = start.time_since_epoch().count();
    view_->kind = 1 + static_cast<uint32_t>(kind);
    return true;
  }
  void end_view(Clock::Duration duration) {
    if (view_ == nullptr) return;
    view_->sum += duration.count();
    view_->kind = 0;
  }

  const Clock* clock_ = &Clock::real();
  RunTrace trace_;
  TimeView* view_ = nullptr;  // Not owned.
  Clock::TimePoint begin_;
  std::array<Clock::Duration, kNumTimeKinds> times_ = {};
  Clock::Duration sum_ = {};  // Of times_.
  int64_t lost_step_ = 0;
  bool is_saving_ = false;
  Runs idle_;    // While nothing was being saved.
  Runs saving_;  // The others.

  std::vector<std::string> hook_names_;
  std::vector<Clock::Duration> hook_times_;
  int64_t runs_to_next_ = 1;

  // Of the run that is being measured.
  int64_t weight_ = 1;
  Clock::TimePoint run_start_;
  Clock::TimePoint last_;
  Clock::Duration sum_at_last_ = {};
  std::vector<Clock::Duration> run_hooks_;
  Clock::Duration run_engine_ = {};
  bool was_saving_ = false;

  int64_t next_weight_ = 1;
  std::minstd_rand random_;
};

// Counts the time of its scope, except that of spans within it.
class CROCHET_EXPORT TimeSpan {
 public:
  TimeSpan(TimeLedger& ledger, TimeKind kind)
      : ledger_(ledger),
        kind_(kind),
        start_(ledger.now()),
        inner_(ledger.sum_),
        is_shown_(ledger.begin_view(kind, start_)) {}
  ~TimeSpan() {
    const Clock::TimePoint now = ledger_.now();
    const Clock::Duration duration = now - start_;
    if (ledger_.trace_.is_on()) ledger_.trace_span(kind_, start_, now);
    ledger_.add(kind_, duration - (ledger_.sum_ - inner_));
    if (is_shown_) ledger_.end_view(duration);
  }
  TimeSpan(const TimeSpan&) = delete;
  TimeSpan& operator=(const TimeSpan&) = delete;

 private:
  TimeLedger& ledger_;
  const TimeKind kind_;
  const Clock::TimePoint start_;
  const Clock::Duration inner_;  // The sum of all kinds at the start.
  const bool is_shown_;
};

}  // namespace crochet::inline v0::internal
