// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/checkpoint_saver_hook.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/internal/checkpoint_metrics.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/run_saves.h"
#include "crochet/ranks/internal/run_agreement.h"

namespace crochet::inline v0 {

namespace {

bool is_by_time(const CheckpointSaverHookOptions& options) {
  return options.save_secs || internal::interval_rule(options).is_set();
}

SecondOrStepTimerOptions timer_options(const CheckpointSaverHookOptions& options) {
  const internal::SaveIntervalRule rule = internal::interval_rule(options);
  internal::check_interval_rule(rule, "CheckpointSaverHook: ");
  if (rule.is_set() && (options.save_steps || options.save_secs))
    throw InvalidArgumentError(
        "CheckpointSaverHook: budget_percent or mean_secs_between_failures chooses the interval: "
        "expected neither save_steps nor save_secs");
  return {.every_steps = options.save_steps,
          .every_secs = rule.is_set() ? internal::SaveInterval::kFirstSecs : options.save_secs,
          .clock = options.clock,
          .owner = "CheckpointSaverHook",
          .steps_option = "save_steps",
          .secs_option = "save_secs"};
}

}  // namespace

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHookOptions options)
    : CheckpointSaverHook(std::move(options), Writing::kWaits) {}

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHook&&) noexcept = default;
CheckpointSaverHook::~CheckpointSaverHook() = default;

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHookOptions options, Writing writing)
    : timer_(timer_options(options)),
      steps_per_run_(options.steps_per_run),
      metrics_(std::make_unique<internal::CheckpointMetrics>(options.saving.metrics)),
      saves_(std::make_unique<internal::RunSaves>(std::move(options),
                                                  writing == Writing::kInBackground)) {
  const CheckpointSaverHookOptions& given = this->options();
  if (given.saver && given.scaffold)
    throw InvalidArgumentError(
        "a checkpoint hook was given a saver and a scaffold: at most one of "
        "them may be given");
  if (given.checkpoint_dir.empty())
    throw InvalidArgumentError("a checkpoint hook was given no checkpoint_dir");
  internal::check_options(given.saving, "CheckpointSaverHook: saving");
  if (std::ranges::find(given.listeners, nullptr) != given.listeners.end())
    throw InvalidArgumentError("a checkpoint hook was given a listener that is a null pointer");
}

const CheckpointSaverHookOptions& CheckpointSaverHook::options() const { return saves_->options(); }

void CheckpointSaverHook::begin(Graph& graph) {
  internal::require_global_step(graph, *this);
  last_save_ = LastSave::kNotBegun;
  agreement_ = internal::agreement_of(graph);
  if (!agreement_->shares_state()) agreement_.reset();
  saves_->begin(graph);
  try {
    metrics_->begin(graph, saves_->find_saver().get(), *this);
  } catch (...) {
    saves_->release();
    throw;
  }
}

const SaveStatistics& CheckpointSaverHook::statistics() const { return saves_->statistics(); }

void CheckpointSaverHook::record_changed_state() { saves_->forget_last_step(); }

void CheckpointSaverHook::after_create_session(Session& session, Coordinator& coordinator) {
  saves_->wait_for_earlier();
  const int64_t step = read_global_step(session);
  metrics_->resume_at(step);
  saves_->saver().check_complete(session);
  step_rejected_ = false;
  timer_.update_last_triggered_step(step);
  stale_step_.reset();
  next_step_ = step + steps_per_run_.value_or(1);
  if (!saves_->begin_session(step) && save(session, step, options().saving.overlap))
    coordinator.request_stop({name(), "a checkpoint listener requested a stop"});
}

std::optional<SessionRunArgs> CheckpointSaverHook::before_run(SessionRunContext& context) {
  if (saves_->deliver_finished(context.session()))
    context.request_stop("a checkpoint listener requested a stop");
  saves_->throw_error_if_to_stop();
  if (const auto secs = saves_->take_interval()) timer_.set_every_secs(*secs);
  context.request_global_step();
  if (!metrics_->has_value() ||
      (!is_by_time(options()) && !timer_.should_trigger_for_step(next_step_)))
    return {};
  return SessionRunArgs{.fetches = metrics_->request()};
}

void CheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  step_rejected_ = context.step_rejected();
  metrics_->end_run(values);
  const std::optional<std::string>& request = context.save_request();
  if (const auto& stop = context.stop_before())
    if (const auto reason = saves_->reason_to_stop(*stop, request.has_value()))
      context.request_stop(*stop, *reason);
  if (step_rejected_) {
    if (request)
      log_warning(fmt::format("not saved as requested ({}): a hook rejected the step", *request));
    return;
  }
  // As many steps as a run makes, or else as the last one made.
  const int64_t stale_step = context.global_step();
  const int64_t num_last = stale_step_ ? stale_step - *stale_step_ : 1;
  next_step_ = stale_step + 2 * steps_per_run_.value_or(num_last);
  stale_step_ = stale_step;
  // Saved once all ranks are after the same step.
  if (agreement_ && !agreement_->is_agreed()) return;
  // Any number of steps may have been made: by the run, by a hook, by other processes.
  constexpr int64_t kMany = 1'000'000;
  if (request || timer_.should_trigger_for_step(stale_step + steps_per_run_.value_or(kMany)))
    save_if_due(context);
}

void CheckpointSaverHook::save_if_due(SessionRunContext& context) {
  const std::optional<std::string>& request = context.save_request();
  Session& session = context.session();
  const int64_t step = read_global_step(session);
  const bool is_due = timer_.should_trigger_for_step(step);
  // An interval of steps keeps its rhythm; one of seconds starts again.
  if (is_due || (request && is_by_time(options()))) timer_.update_last_triggered_step(step);
  if (!is_due && (!request || saves_->is_saved(step))) return;
  if (request) log_info(fmt::format("saving step {} as requested: {}", step, *request));
  record_metric(session, step);
  record_points(step);
  // One that was asked for is not skipped.
  if (save(session, step, request ? SaveOverlapPolicy::kWait : options().saving.overlap))
    context.request_stop("a checkpoint listener requested a stop");
}

SaveableMap CheckpointSaverHook::saveables() { return metrics_->state(); }

void CheckpointSaverHook::before_end(Session& session) {
  last_save_ = LastSave::kBegun;
  saves_->begin_end(session, step_rejected_);
  try {
    const int64_t step = read_global_step(session);
    if (step_rejected_)
      log_warning(fmt::format("step {} is not saved: a hook rejected it; {}", step,
                              saves_->saver().newest_text()));
    else if (!saves_->is_saved(step))
      save_last(session, step);
  } catch (...) {
    saves_->release();
    throw;
  }
  last_save_ = LastSave::kMade;
}

void CheckpointSaverHook::end(Session& session) {
  if (last_save_ == LastSave::kNotBegun) before_end(session);  // Called by a program of its own.
  if (last_save_ == LastSave::kBegun) return;                  // Its error was thrown then.
  try {
    const int64_t step = read_global_step(session);
    saves_->finish(session);
    if (metric_is_late_ && saves_->has_time()) record_metric(session, step);
    record_points(step);
    saves_->saver().write_noted_metrics();
    for (const auto& listener : options().listeners) listener->end(session, step);
  } catch (...) {
    saves_->release();
    throw;
  }
  saves_->release();
}

void CheckpointSaverHook::save_last(Session& session, int64_t step) {
  // After a signal, the time is for the checkpoint first.
  metric_is_late_ = !metrics_->has_newest() && pending_signal() != 0;
  if (!metric_is_late_) record_metric(session, step);
  record_points(step);
  save(session, step, options().saving.overlap);
}

bool CheckpointSaverHook::save(Session& session, int64_t step, SaveOverlapPolicy overlap) {
  return saves_->save(session, step, overlap, last_save_ == LastSave::kBegun);
}

void CheckpointSaverHook::record_metric(Session& session, int64_t step) {
  metrics_->record_value(session, saves_->saver(), saves_->save_path(), step);
}

void CheckpointSaverHook::record_points(int64_t step) {
  metrics_->record_points(saves_->saver(), saves_->save_path(), step);
}

void CheckpointSaverHook::on_error(std::exception_ptr) {
  const bool has_begun = saves_->has_begun();
  saves_->release();
  if (!has_begun) return;
  std::string text = saves_->saver().newest_text();
  if (pending_signal() == 0)
    text += "; started again, also under a debugger, the program makes the steps since then again";
  log_info(text);
}

std::string CheckpointSaverHook::activity() const { return saves_->activity(); }

}  // namespace crochet::inline v0
