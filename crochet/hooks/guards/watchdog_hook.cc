// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/watchdog_hook.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/hooks/guards/internal/watched_process.h"
#include "crochet/hooks/internal/from_tensor.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/io/file_system.h"
#include "crochet/ranks/ranks.h"
#include "crochet/training/internal/time_ledger.h"

namespace crochet::inline v0 {
namespace {

using internal::WatchPage;
using internal::WatchPhase;

// The helper compares with the same clock, which no test can replace.
int64_t now() { return Clock::real().now().time_since_epoch().count(); }
int64_t nanoseconds(double secs) { return from_seconds(secs).count(); }

// How many steps the median is of, and how often it is found.
constexpr size_t kNumSteps = 63;
constexpr size_t kStepsToMedian = 16;
constexpr int64_t kLookAtSaves = 1'000'000'000;

WatchdogHookOptions checked(WatchdogHookOptions options) {
  internal::check_above("WatchdogHook: min_step_secs", options.min_step_secs, 0);
  internal::check_at_least("WatchdogHook: factor", options.factor, 1);
  internal::check_above("WatchdogHook: restore_secs", options.restore_secs, 0);
  internal::check_above("WatchdogHook: save_secs", options.save_secs, 0);
  internal::check_above("WatchdogHook: evaluation_secs", options.evaluation_secs, 0);
  internal::check_above("WatchdogHook: end_secs", options.end_secs, 0);
  if (options.values.size() > WatchPage::kMaxValues)
    throw InvalidArgumentError(fmt::format("WatchdogHook: {} values, expected at most {}",
                                           options.values.size(), WatchPage::kMaxValues));
  if (!options.dir.empty()) options.dir = FileSystem::posix().fixed_path(options.dir);
  return options;
}

internal::WatchAction action_of(HungAction action) {
  switch (action) {
    case HungAction::kStop:
      return internal::WatchAction::kStop;
    case HungAction::kAbort:
      return internal::WatchAction::kAbort;
    default:
      return internal::WatchAction::kWarn;
  }
}

}  // namespace

// The page of a process that has a helper, and what is needed to write it.
class WatchdogHook::Watched {
 public:
  Watched(std::unique_ptr<internal::WatchedProcess> process, const WatchdogHookOptions& options,
          internal::TimeLedger& times)
      : process_(std::move(process)), options_(options), page_(process_->page()), times_(times) {
    page_.num_values = static_cast<uint32_t>(options.values.size());
    for (size_t i = 0; i < options.values.size(); ++i)
      internal::write_text(options.values[i], page_.values[i].name);
    page_.save_limit = nanoseconds(options.save_secs);
    set_limit(internal::TimeKind::kSetup, options.restore_secs);
    set_limit(internal::TimeKind::kSaving, options.save_secs);
    set_limit(internal::TimeKind::kEvaluation, options.evaluation_secs);
    times_.show_in(&page_.span);
  }
  ~Watched() { times_.show_in(nullptr); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  void begin_phase(WatchPhase phase, double limit_secs) {
    // The limit first: a helper that reads between the two sees the earlier phase end late.
    page_.since = 0;
    page_.span.sum = 0;
    page_.phase = phase;
    page_.limit = nanoseconds(limit_secs);
    page_.since = now();
    num_durations_ = 0;
    last_ = 0;
  }

  void begin_step() {
    const int64_t time = now();
    if (last_ != 0) add(time - last_);
    last_ = time;
    if (page_.phase.load(std::memory_order_relaxed) != WatchPhase::kStep)
      page_.phase = WatchPhase::kStep;
    page_.span.sum.store(0, std::memory_order_relaxed);
    page_.since = time;
  }

  void end_step(SessionRunContext& context, int64_t step, const FetchValues& values) {
    page_.step.store(step, std::memory_order_relaxed);
    for (size_t i = 0; i < options_.values.size(); ++i) {
      const Tensor& value = values[i].tensor();
      if (value.is_set())
        page_.values[i].value = internal::number_of("WatchdogHook: ", options_.values[i], value);
    }
    if (last_ < next_look_) return;
    next_look_ = last_ + kLookAtSaves;
    look_at_saves(context);
    if (const uint32_t num_hung = page_.num_hung; num_hung != num_known_) {
      num_known_ = num_hung;
      log_warning(fmt::format("step {} was found to be hung, and has ended", step));
    }
  }

 private:
  void set_limit(internal::TimeKind kind, double secs) {
    page_.span_limits[static_cast<size_t>(kind)] = nanoseconds(secs);
  }

  void add(int64_t duration) {
    durations_[num_durations_++ % kNumSteps] = duration;
    if (num_durations_ != 1 && num_durations_ % kStepsToMedian != 0) return;
    std::array<int64_t, kNumSteps> sorted = durations_;
    const auto end = sorted.begin() + std::min(num_durations_, kNumSteps);
    const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
    std::nth_element(sorted.begin(), middle, end);
    const double by_factor = options_.factor * static_cast<double>(*middle);
    page_.limit = std::max(nanoseconds(options_.min_step_secs), static_cast<int64_t>(by_factor));
  }

  // The same save for too long is hung: that of another step is another one.
  void look_at_saves(const SessionRunContext& context) {
    const std::string activity = context.activity();
    if (activity == page_.activity.data()) return;
    page_.save_since = 0;
    internal::write_text(activity, page_.activity);
    if (!activity.empty()) page_.save_since = last_;
  }

  const std::unique_ptr<internal::WatchedProcess> process_;
  const WatchdogHookOptions& options_;
  WatchPage& page_;
  internal::TimeLedger& times_;  // The graph's.
  int64_t last_ = 0;             // When the last step began; 0: none in this session.
  int64_t next_look_ = 0;
  uint32_t num_known_ = 0;
  size_t num_durations_ = 0;
  std::array<int64_t, kNumSteps> durations_ = {};
};

WatchdogHook::WatchdogHook(WatchdogHookOptions options) : options_(checked(std::move(options))) {}
WatchdogHook::~WatchdogHook() = default;
WatchdogHook::WatchdogHook(WatchdogHook&&) noexcept = default;

void WatchdogHook::begin(Graph& graph) {
  Fetches::List values;
  for (const std::string& name : options_.values) values.emplace_back(name);
  values_ = internal::resolve_values(graph, Fetches(std::move(values)), *this);
  watched_.reset();
  const Group* const group = group_of(graph);
  if (auto process =
          internal::WatchedProcess::start(options_.helper, action_of(options_.action),
                                          group != nullptr ? group->rank() : 0, options_.dir))
    watched_ =
        std::make_unique<Watched>(std::move(process), options_, internal::TimeLedger::of(graph));
  if (watched_) watched_->begin_phase(WatchPhase::kRestore, options_.restore_secs);
}

void WatchdogHook::after_create_session(Session&, Coordinator&) {
  // The first step may take longer than any other.
  if (watched_) watched_->begin_phase(WatchPhase::kStep, options_.restore_secs);
}

std::optional<SessionRunArgs> WatchdogHook::before_run(SessionRunContext& context) {
  if (!watched_) return {};
  watched_->begin_step();
  context.request_global_step();
  if (options_.values.empty()) return {};
  return SessionRunArgs{.fetches = values_};
}

void WatchdogHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (!watched_) return;
  watched_->end_step(context, context.global_step() + 1, values.results);
  if (context.stop_requested()) watched_->begin_phase(WatchPhase::kEnd, options_.end_secs);
}

void WatchdogHook::before_end(Session&) {
  if (watched_) watched_->begin_phase(WatchPhase::kEnd, options_.end_secs);
}

void WatchdogHook::end(Session&) { watched_.reset(); }
void WatchdogHook::on_error(std::exception_ptr) { watched_.reset(); }

}  // namespace crochet::inline v0
