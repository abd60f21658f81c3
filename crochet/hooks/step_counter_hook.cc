// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/step_counter_hook.h"

#include <fmt/format.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/hooks/internal/global_step.h"

namespace crochet::inline v0 {
namespace {

constexpr int64_t kDefaultEverySteps = 100;
constexpr int kMostWarnings = 5;

SecondOrStepTimer timer_of(const StepCounterHookOptions& options) {
  std::optional<int64_t> every_steps = options.every_n_steps;
  if (!every_steps && !options.every_n_secs) every_steps = kDefaultEverySteps;
  return SecondOrStepTimer({.every_steps = every_steps,
                            .every_secs = options.every_n_secs,
                            .clock = options.clock,
                            .owner = "StepCounterHook",
                            .steps_option = "every_n_steps",
                            .secs_option = "every_n_secs"});
}

}  // namespace

StepCounterHook::StepCounterHook(StepCounterHookOptions options)
    : options_(options), timer_(timer_of(options)), writer_(options.summary_writer) {
  internal::check_at_least("StepCounterHook: min_log_secs", options.min_log_secs, 0);
  options_.output_dir = FileSystem::posix().fixed_path(options_.output_dir);
}

void StepCounterHook::begin(Graph& graph) {
  step_ = internal::require_global_step(graph, *this);
  tag_ = graph.global_step_name() + "/sec";
  if (!writer_ && !options_.output_dir.empty())
    writer_ = SummaryWriter::for_directory(options_.output_dir, FileSystem::posix(),
                                           Clock::or_real(options_.clock));
}

void StepCounterHook::after_create_session(Session& session, Coordinator&) {
  last_step_.reset();  // A repeated step is not stuck.
  const int64_t step = read_global_step(session);
  // Lost steps count in no rate, and must not delay the next trigger.
  if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();
  if (writer_) writer_->start_session(step);
}

std::optional<SessionRunArgs> StepCounterHook::before_run(SessionRunContext& context) {
  internal::require_session(static_cast<bool>(step_), *this);
  context.request_global_step();
  return {};
}

void StepCounterHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  const int64_t stale_step = context.global_step();
  if (writer_) writer_->write_start();
  if (timer_.should_trigger_for_step(stale_step + options_.steps_per_run)) {
    const int64_t step = read_global_step(context.session());
    if (timer_.should_trigger_for_step(step))
      if (const auto elapsed = timer_.update_last_triggered_step(step)) report(step, *elapsed);
  }
  warn_if_stuck(stale_step);
}

void StepCounterHook::report(int64_t step, const SecondOrStepTimer::Elapsed& elapsed) {
  // After a recovery the step may be less than at the last trigger: no rate then.
  if (elapsed.steps < 0 || elapsed.secs <= 0) return;
  const double rate = static_cast<double>(elapsed.steps) / elapsed.secs;
  if (writer_) writer_->add_scalar(tag_, rate, step);
  secs_since_log_ += elapsed.secs;
  if (secs_since_log_ < options_.min_log_secs) return;
  log_info(fmt::format("{}: {:g}", tag_, rate));
  secs_since_log_ = 0;
}

void StepCounterHook::warn_if_stuck(int64_t step) {
  if (last_step_ == step && warnings_ < kMostWarnings) {
    ++warnings_;
    log_warning(fmt::format(
        "the global step has not been increased: it was {} before this run and before the "
        "last one; does the train operation increment it?",
        step));
  }
  last_step_ = step;
}

}  // namespace crochet::inline v0
