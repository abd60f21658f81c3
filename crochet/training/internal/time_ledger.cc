// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/time_ledger.h"

#include <algorithm>

namespace crochet::inline v0::internal {
namespace {

// What a reading of the clock costs, and the part of a run's time that measuring may take.
constexpr double kReadingNanoseconds = 30;
constexpr double kMeasuringPart = 0.002;
constexpr int64_t kMaxMeanInterval = 1024;

}  // namespace

TimeLedger& TimeLedger::of(Graph& graph) {
  const auto existing = graph.attached<TimeLedger>();
  if (!existing.empty()) return *existing.back();
  auto ledger = std::make_shared<TimeLedger>();
  ledger->begin(Clock::real());
  graph.attach(ledger);
  return *ledger;
}

void TimeLedger::begin(Clock& clock) {
  *this = TimeLedger();
  clock_ = &clock;
  begin_ = now();
}

void TimeLedger::set_hooks(std::vector<std::string> names) {
  if (names == hook_names_) return;
  hook_names_ = std::move(names);
  hook_times_.assign(hook_names_.size(), {});
  run_hooks_.assign(hook_names_.size(), {});
}

// The next run counts for those since the last one that was measured.
void TimeLedger::begin_trace() {
  trace_.begin(now());
  next_weight_ -= runs_to_next_ - 1;
  runs_to_next_ = 1;
}

void TimeLedger::trace_span(TimeKind kind, Clock::TimePoint start, Clock::TimePoint end) {
  constexpr std::array<std::string_view, kNumTimeKinds> kNames = {"setup", "save", "evaluation",
                                                                  "wait for other ranks"};
  trace_.add(kNames[static_cast<size_t>(kind)], start, end);
}

void TimeLedger::begin_run() {
  weight_ = std::exchange(next_weight_, 1);
  runs_to_next_ = 1;
  std::ranges::fill(run_hooks_, Clock::Duration());
  was_saving_ = is_saving_;
  run_start_ = last_ = now();
  sum_at_last_ = sum_;
}

Clock::Duration TimeLedger::lap(std::string_view name) {
  const Clock::TimePoint time = now();
  if (trace_.is_on() && !name.empty()) trace_.add(name, last_, time);
  const Clock::Duration passed = time - last_ - (sum_ - sum_at_last_);
  last_ = time;
  sum_at_last_ = sum_;
  return passed;
}

void TimeLedger::end_run() {
  for (size_t i = 0; i < hook_times_.size(); ++i) hook_times_[i] += weight_ * run_hooks_[i];
  Runs& runs = was_saving_ ? saving_ : idle_;
  runs.number += weight_;
  runs.time += weight_ * run_engine_;
  const double cost = kReadingNanoseconds * static_cast<double>(2 * hook_times_.size() + 3);
  const double run = std::max<double>(1, static_cast<double>((last_ - run_start_).count()));
  const double mean = std::min<double>(kMaxMeanInterval, cost / (kMeasuringPart * run));
  next_weight_ = 1;
  if (mean > 1 && !trace_.is_on())
    next_weight_ =
        std::uniform_int_distribution<int64_t>(1, static_cast<int64_t>(2 * mean) - 1)(random_);
  runs_to_next_ = next_weight_;
}

RunTimes TimeLedger::times() const {
  const auto secs = [this](TimeKind kind) { return to_seconds(times_[static_cast<size_t>(kind)]); };
  RunTimes times = {.total = to_seconds(now() - begin_),
                    .setup = secs(TimeKind::kSetup),
                    .saving = secs(TimeKind::kSaving),
                    .slowed = slowed_secs(),
                    .evaluation = secs(TimeKind::kEvaluation),
                    .waiting = secs(TimeKind::kWaiting)};
  for (size_t i = 0; i < hook_names_.size(); ++i) {
    times.by_hook[hook_names_[i]] += to_seconds(hook_times_[i]);
    times.hooks += to_seconds(hook_times_[i]);
  }
  return times;
}

double TimeLedger::slowed_secs() const {
  if (idle_.number == 0) return 0;
  const double expected = to_seconds(idle_.time) * static_cast<double>(saving_.number) /
                          static_cast<double>(idle_.number);
  return std::max(0.0, to_seconds(saving_.time) - expected);
}

}  // namespace crochet::inline v0::internal
