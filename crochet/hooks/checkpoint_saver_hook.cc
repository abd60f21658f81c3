// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/checkpoint_saver_hook.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/file/index_file.h"
#include "crochet/checkpoint/saver/background_saver.h"
#include "crochet/checkpoint/saver/registered_saver.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/hooks/global_step.h"
#include "crochet/hooks/internal/checkpoint_metrics.h"
#include "crochet/hooks/internal/run_directories.h"
#include "crochet/hooks/internal/save_deadline.h"
#include "crochet/hooks/internal/save_reports.h"
#include "crochet/io/path.h"
#include "crochet/session/rank_state.h"

namespace crochet::inline v0 {
CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHookOptions options)
    : CheckpointSaverHook(std::move(options), Writing::kWaits) {}

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHook&&) noexcept = default;
CheckpointSaverHook::~CheckpointSaverHook() = default;

CheckpointSaverHook::CheckpointSaverHook(CheckpointSaverHookOptions options, Writing writing)
    : options_(std::move(options)),
      writing_(writing),
      timer_({.every_steps = options_.save_steps,
              .every_secs = options_.save_secs,
              .clock = options_.clock,
              .owner = "CheckpointSaverHook",
              .steps_option = "save_steps",
              .secs_option = "save_secs"}),
      metrics_(std::make_unique<internal::CheckpointMetrics>(options_.saving.metrics)),
      reports_(std::make_unique<internal::SaveReports>()),
      deadline_(std::make_unique<internal::SaveDeadline>(options_.saving.deadline_secs)) {
  if (options_.saver && options_.scaffold)
    throw InvalidArgumentError(
        "a checkpoint hook was given a saver and a scaffold: at most one of "
        "them may be given");
  if (options_.checkpoint_dir.empty())
    throw InvalidArgumentError("a checkpoint hook was given no checkpoint_dir");
  internal::check_options(options_.saving, "CheckpointSaverHook: saving");
  if (std::ranges::find(options_.listeners, nullptr) != options_.listeners.end())
    throw InvalidArgumentError("a checkpoint hook was given a listener that is a null pointer");
}

std::shared_ptr<Saver> CheckpointSaverHook::find_saver() const {
  if (options_.saver) return options_.saver;
  if (options_.scaffold && options_.scaffold->saver) return options_.scaffold->saver;
  return graph_ ? registered_saver(*graph_) : nullptr;
}

Saver& CheckpointSaverHook::saver() {
  if (options_.scaffold && options_.scaffold->saver) return *options_.scaffold->saver;
  if (!saver_) saver_ = find_saver();
  if (!saver_) saver_ = std::make_shared<Saver>(SaverOptions{.allow_empty = true});
  return *saver_;
}

BackgroundSaver& CheckpointSaverHook::background() {
  if (!background_)
    background_ = std::make_shared<BackgroundSaver>(
        saver(), BackgroundSaverOptions{.overlap = options_.saving.overlap});
  return *background_;
}

std::string CheckpointSaverHook::save_path() const {
  return join_path(options_.checkpoint_dir, options_.checkpoint_basename.str());
}

void CheckpointSaverHook::begin(Graph& graph) {
  require_global_step(graph, *this);
  graph_ = &graph;
  last_save_ = LastSave::kNotBegun;
  ranks_ = internal::RankState::find(graph);
  if (ranks_ && !ranks_->is_shared()) ranks_.reset();
  saver_.reset();
  // A saver that is created only with the session uses the operating system's files.
  const std::shared_ptr<Saver> known = find_saver();
  FileSystem& files = known ? known->files() : FileSystem::posix();
  options_.checkpoint_dir = files.fixed_path(options_.checkpoint_dir, start_);
  std::shared_ptr<void> locks = internal::lock_directories(
      {.checkpoint_dir = options_.checkpoint_dir,
       .fallback_dir = known ? known->fallback_dir() : "",
       .basename = options_.checkpoint_basename,
       .lock = options_.saving.lock_directory ? DirectoryLock::Kind::kFile
                                              : DirectoryLock::Kind::kNone},
      files, known ? known->options() : SaverOptions());
  metrics_->begin(graph, known.get(), *this);
  for (const auto& listener : options_.listeners) listener->begin();
  writer_ = SummaryWriter::for_directory(options_.checkpoint_dir, files,
                                         options_.clock ? *options_.clock : Clock::real());
  reports_->write_to(options_.summary_writer ? options_.summary_writer : writer_);
  locks_ = std::move(locks);  // Last: a hook that cannot begin holds nothing.
}

const SaveStatistics& CheckpointSaverHook::statistics() const { return reports_->statistics(); }

void CheckpointSaverHook::after_create_session(Session& session, Coordinator& coordinator) {
  if (background_) background_->wait();  // For the saves of an earlier session.
  const int64_t step = read_global_step(session);
  metrics_->resume_at(step);
  saver().check_complete(session);
  last_saved_step_.reset();
  step_rejected_ = false;
  timer_.update_last_triggered_step(step);
  stale_step_.reset();
  next_step_ = step + options_.steps_per_run.value_or(1);
  if (checkpoint_exists(saver().files(), saver().prefix_of(save_path(), step)))
    last_saved_step_ = step;
  else if (save(session, step, options_.saving.overlap))
    coordinator.request_stop({name(), "a checkpoint listener requested a stop"});
}

std::optional<SessionRunArgs> CheckpointSaverHook::before_run(SessionRunContext& context) {
  if (deliver_finished(context.session()))
    context.request_stop("a checkpoint listener requested a stop");
  throw_error_if_to_stop();
  context.request_global_step();
  if (!metrics_->has_value() ||
      (!options_.save_secs && !timer_.should_trigger_for_step(next_step_)))
    return {};
  return SessionRunArgs{.fetches = metrics_->request()};
}

void CheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  step_rejected_ = context.step_rejected();
  metrics_->end_run(values);
  const std::optional<std::string>& request = context.save_request();
  if (step_rejected_) {
    if (request)
      log_warning(fmt::format("not saved as requested ({}): a hook rejected the step", *request));
    return;
  }
  const int64_t stale_step = context.global_step();
  next_step_ = stale_step + 2 * steps_of_a_run(stale_step);
  stale_step_ = stale_step;
  if (ranks_ && !ranks_->is_agreed()) return;  // Saved once all ranks are after the same step.
  if (!request && !may_be_due(stale_step)) return;
  const int64_t step = read_global_step(context.session());
  const bool is_due = timer_.should_trigger_for_step(step);
  // An interval of steps keeps its rhythm; one of seconds starts again.
  if (is_due || (request && options_.save_secs)) timer_.update_last_triggered_step(step);
  if (!is_due && (!request || last_saved_step_ == step)) return;
  if (request) log_info(fmt::format("saving step {} as requested: {}", step, *request));
  metrics_->record_value(context.session(), saver(), save_path(), step);
  metrics_->record_points(saver(), save_path(), step);
  // One that was asked for is not skipped.
  if (save(context.session(), step, request ? SaveOverlapPolicy::kWait : options_.saving.overlap))
    context.request_stop("a checkpoint listener requested a stop");
}

SaveableMap CheckpointSaverHook::saveables() { return metrics_->state(); }

// Any number of steps may have been made: by the run, by a hook, by other processes.
bool CheckpointSaverHook::may_be_due(int64_t stale_step) const {
  constexpr int64_t kMany = 1'000'000;
  return timer_.should_trigger_for_step(stale_step + options_.steps_per_run.value_or(kMany));
}

int64_t CheckpointSaverHook::steps_of_a_run(int64_t stale_step) const {
  if (options_.steps_per_run) return *options_.steps_per_run;
  return stale_step_ ? stale_step - *stale_step_ : 1;
}

void CheckpointSaverHook::before_end(Session& session) {
  last_save_ = LastSave::kBegun;
  if (deadline_->is_limited())
    finish_running(session);
  else if (background_ && options_.saving.overlap == SaveOverlapPolicy::kSkip)
    background_->wait();
  try {
    const int64_t step = read_global_step(session);
    if (step_rejected_)
      log_warning(
          fmt::format("step {} is not saved: a hook rejected it; {}", step, saver().newest_text()));
    else if (last_saved_step_ != step)
      save_last(session, step);
  } catch (...) {
    release();
    throw;
  }
  last_save_ = LastSave::kMade;
}

void CheckpointSaverHook::end(Session& session) {
  if (last_save_ == LastSave::kNotBegun) before_end(session);  // Called by a program of its own.
  if (last_save_ == LastSave::kBegun) return;                  // Its error was thrown then.
  try {
    const int64_t step = read_global_step(session);
    finish(session);
    if (metric_is_late_ && deadline_->has_time(saver().clock()))
      metrics_->record_value(session, saver(), save_path(), step);
    metrics_->record_points(saver(), save_path(), step);
    saver().write_noted_metrics();
    for (const auto& listener : options_.listeners) listener->end(session, step);
  } catch (...) {
    release();
    throw;
  }
  release();
}

void CheckpointSaverHook::save_last(Session& session, int64_t step) {
  // After a signal, the time is for the checkpoint first.
  metric_is_late_ = !metrics_->has_newest() && pending_signal() != 0;
  if (!metric_is_late_) metrics_->record_value(session, saver(), save_path(), step);
  metrics_->record_points(saver(), save_path(), step);
  save(session, step, options_.saving.overlap);
}

void CheckpointSaverHook::on_error(std::exception_ptr) {
  const bool has_begun = locks_ != nullptr;
  release();
  if (has_begun) log_info(saver().newest_text());
}

std::string CheckpointSaverHook::activity() const {
  if (!background_ || !last_saved_step_ || !background_->busy()) return {};
  return fmt::format("saving step {}", *last_saved_step_);
}

void CheckpointSaverHook::release() {
  if (background_) {
    try {
      if (deadline_->is_limited())
        background_->close(deadline_->time(saver().clock()), locks_);
      else
        background_->wait();
    } catch (const Error& error) {  // Time is up, or the child of a fork unwinds its parent's run.
      log_error(error.what());
    }
    for (const SaveTicket& ticket : background_->take_finished()) reports_->record_ended(ticket);
    background_.reset();
  }
  if (locks_) log_debug(fmt::format("{}: {}", options_.checkpoint_dir, to_string(statistics())));
  reports_->write_to(options_.summary_writer);
  writer_.reset();
  locks_.reset();
}

void CheckpointSaverHook::finish_running(Session& session) {
  Clock& clock = saver().clock();
  const Clock::TimePoint deadline = deadline_->time(clock);
  if (!background_ || !background_->busy()) return;
  log_info(fmt::format("{:.1f} s left before the deadline: waiting for {}",
                       deadline_->secs_left(clock), background_->unfinished()));
  try {
    background_->close(deadline, locks_);
  } catch (const DeadlineExceededError& error) {
    const int64_t step = read_global_step(session);
    const bool is_lost = last_saved_step_ != step && !step_rejected_;
    release();
    if (!is_lost) throw;
    throw DeadlineExceededError(
        fmt::format("the state of step {} is not saved; {}", step, error.what()));
  }
  deliver_finished(session);
}

bool CheckpointSaverHook::save(Session& session, int64_t step, SaveOverlapPolicy overlap) {
  Clock& clock = saver().clock();
  if (deadline_->leaves_to_the_end(step)) return deliver_finished(session);
  if (!deadline_->has_time(clock)) return false;
  const Clock::TimePoint start = clock.now();
  if (writing_ == Writing::kInBackground && !deadline_->has_begun()) {
    if (overlap == SaveOverlapPolicy::kSkip && background().busy()) {
      log_warning(fmt::format(
          "the checkpoint of step {} is skipped: another one is still being written", step));
      reports_->record_skipped(step);
      return deliver_finished(session);
    }
    // Waits before the snapshot is taken: another one beside that being written costs memory.
    if (overlap == SaveOverlapPolicy::kWait && !background().wait_for_turn() &&
        deadline_->leaves_to_the_end(step))
      return deliver_finished(session);
  }
  for (const auto& listener : options_.listeners) listener->before_save(session, step);
  const int64_t superseded = background().num_superseded();
  SaveSource source = saver().snapshot_for(session, saver().prefix_of(save_path(), step));
  if (is_nothing(source) ||
      !deadline_->has_time_for(step, background().expected_secs(source.num_bytes()), clock))
    return deliver_finished(session);
  // What end() of a hook changes must not get into copies that are still being made.
  if (last_save_ == LastSave::kBegun) source.snapshot().readable();
  last_saved_step_ = step;
  if (writing_ == Writing::kInBackground) {
    background().enqueue(std::move(source), save_path(), step);
  } else {
    try {
      background().write_now(source, save_path(), step);
    } catch (...) {
      reports_->record_blocked(step, clock.now() - start);
      deliver_finished(session);
      throw;
    }
  }
  if (background().num_superseded() > superseded) reports_->record_skipped(step);
  reports_->record_blocked(step, clock.now() - start);
  return deliver_finished(session);
}

bool CheckpointSaverHook::deliver_finished(Session& session) {
  if (!background_) return false;
  bool stop = false;
  for (const SaveTicket& ticket : background_->take_finished()) {
    reports_->record_ended(ticket);
    last_error_ = ticket.error();
    if (last_error_) {
      // Thrown even if a later save succeeds.
      // So is an error of the state, which every later save would meet.
      if (writing_ == Writing::kInBackground &&
          (options_.saving.on_error == SaveErrorPolicy::kStop ||
           ticket.fault() == SaveFault::kState))
        untold_error_ = last_error_;
      if (last_saved_step_ == ticket.step()) last_saved_step_.reset();
      continue;
    }
    log_debug(fmt::format("checkpoint {} took {:.3f} s", ticket.prefix(),
                          ticket.seconds(SaveStage::kPublished).value_or(0)));
    stop = call_after_save(session, ticket.step()) || stop;
  }
  return stop;
}

void CheckpointSaverHook::throw_error_if_to_stop() {
  if (!untold_error_) return;
  last_error_ = nullptr;
  std::rethrow_exception(std::exchange(untold_error_, nullptr));
}

void CheckpointSaverHook::finish(Session& session) {
  if (const std::string& reason = deadline_->reason_unsaved(); !reason.empty()) {
    deliver_finished(session);
    throw background().late_error(
        fmt::format("the state of step {} is not saved: {}", read_global_step(session), reason));
  }
  if (deadline_->has_begun())
    background().close(deadline_->time(saver().clock()), locks_);
  else
    background().wait();
  deliver_finished(session);
  if (last_error_) std::rethrow_exception(last_error_);
  throw_error_if_to_stop();
}

bool CheckpointSaverHook::is_nothing(const SaveSource& source) {
  if (!source.empty()) return false;
  if (!std::exchange(nothing_logged_, true))
    log_warning(fmt::format(
        "{}: nothing is saved: the saver finds neither variables nor objects in the graph",
        options_.checkpoint_dir));
  return true;
}

bool CheckpointSaverHook::call_after_save(Session& session, int64_t step) {
  if (writer_) writer_->add_session_log(SessionLog::kCheckpoint, step, save_path());
  bool stop = false;
  for (const auto& listener : options_.listeners) {
    if (!listener->after_save(session, step)) continue;
    log_info(fmt::format("a checkpoint listener requested a stop after saving step {}", step));
    stop = true;
  }
  return stop;
}

}  // namespace crochet::inline v0
