// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/run_saves.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/hooks/internal/run_directories.h"
#include "crochet/io/file_system.h"
#include "crochet/ranks/internal/run_agreement.h"

namespace crochet::inline v0::internal {

std::shared_ptr<Saver> RunSaves::find_saver() const {
  if (options_.saver) return options_.saver;
  if (options_.scaffold && options_.scaffold->saver) return options_.scaffold->saver;
  return graph_ ? registered_saver(*graph_) : nullptr;
}

Saver& RunSaves::saver() {
  if (options_.scaffold && options_.scaffold->saver) return *options_.scaffold->saver;
  if (!saver_) saver_ = find_saver();
  if (!saver_) saver_ = std::make_shared<Saver>(SaverOptions{.allow_empty = true});
  return *saver_;
}

BackgroundSaver& RunSaves::background() {
  if (!background_)
    background_ = std::make_shared<BackgroundSaver>(
        saver(), BackgroundSaverOptions{.overlap = options_.saving.overlap});
  return *background_;
}

std::string RunSaves::save_path() const {
  return join_path(options_.checkpoint_dir, options_.checkpoint_basename.str());
}

void RunSaves::begin(Graph& graph) {
  graph_ = &graph;
  saver_.reset();
  // A saver that is created only with the session uses the operating system's files.
  const std::shared_ptr<Saver> known = find_saver();
  FileSystem& files = known ? known->files() : FileSystem::posix();
  options_.checkpoint_dir = files.fixed_path(options_.checkpoint_dir, start_);
  std::shared_ptr<void> locks =
      lock_directories({.checkpoint_dir = options_.checkpoint_dir,
                        .fallback_dir = known ? known->fallback_dir() : "",
                        .basename = options_.checkpoint_basename,
                        .lock = options_.saving.lock_directory ? DirectoryLock::Kind::kFile
                                                               : DirectoryLock::Kind::kNone},
                       files, known ? known->options() : SaverOptions());
  for (const auto& listener : options_.listeners) listener->begin();
  writer_ =
      SummaryWriter::for_directory(options_.checkpoint_dir, files, Clock::or_real(options_.clock));
  reports_.record_in(Journal::find(options_.checkpoint_dir, files));
  if (interval_.is_set()) interval_.learn(failures_of(files, options_.checkpoint_dir));
  reports_.write_to(options_.summary_writer ? options_.summary_writer : writer_);
  place_ = std::make_shared<SavedPlace>(
      SavedPlace{options_.checkpoint_dir, options_.checkpoint_basename.str(), files});
  graph.attach(place_);
  locks_ = std::move(locks);  // Last: a hook that cannot begin holds nothing.
}

bool RunSaves::begin_session(int64_t step) {
  last_saved_step_.reset();
  const bool exists = checkpoint_exists(saver().files(), saver().prefix_of(save_path(), step));
  needs_fast_place_ = !exists && find_fast_place(saver().files(), save_path()).has_value();
  if (!needs_fast_place_) drop_unused_fast_place(saver().files(), save_path());
  if (exists) last_saved_step_ = step;
  return exists;
}

void RunSaves::wait_for_earlier() {
  if (background_) background_->wait();
}

void RunSaves::begin_end(Session& session, bool is_rejected) {
  const TimeSpan span(times(), TimeKind::kSaving);
  if (deadline_.is_limited())
    finish_running(session, is_rejected);
  else if (options_.saving.overlap == SaveOverlapPolicy::kSkip)
    wait_for_earlier();
}

void RunSaves::finish_running(Session& session, bool is_rejected) {
  Clock& clock = saver().clock();
  const Clock::TimePoint deadline = deadline_.time(clock);
  if (!background_ || !background_->busy()) return;
  log_info(fmt::format("{:.1f} s left before the deadline: waiting for {}",
                       deadline_.secs_left(clock), background_->unfinished()));
  try {
    background_->close(deadline, locks_);
  } catch (const DeadlineExceededError& error) {
    const int64_t step = read_global_step(session);
    const bool is_lost = last_saved_step_ != step && !is_rejected;
    release();
    if (!is_lost) throw;
    throw DeadlineExceededError(
        fmt::format("the state of step {} is not saved; {}", step, error.what()));
  }
  deliver_finished(session);
}

bool RunSaves::save(Session& session, int64_t step, SaveOverlapPolicy overlap, bool is_last) {
  const TimeSpan span(times(), TimeKind::kSaving);
  Clock& clock = saver().clock();
  if (deadline_.leaves_to_the_end(step)) return deliver_finished(session);
  if (!deadline_.has_time(clock)) return false;
  const Clock::TimePoint start = clock.now();
  if (in_background_ && !deadline_.has_begun()) {
    if (overlap == SaveOverlapPolicy::kSkip && background().busy()) {
      log_warning(fmt::format(
          "the checkpoint of step {} is skipped: another one is still being written", step));
      reports_.record_skipped(step);
      return deliver_finished(session);
    }
    // Waits before the snapshot is taken: another one beside that being written costs memory.
    if (overlap == SaveOverlapPolicy::kWait && !background().wait_for_turn() &&
        deadline_.leaves_to_the_end(step))
      return deliver_finished(session);
  }
  for (const auto& listener : options_.listeners) listener->before_save(session, step);
  const Clock::TimePoint snapshot = clock.now();
  const int64_t superseded = background().num_superseded();
  SaveSource source = SaverAccess::snapshot_for(
      saver(), session, saver().prefix_of(save_path(), step), agreement_of(*graph_)->joint_save());
  if (is_nothing(source) ||
      (deadline_.has_begun() &&
       !deadline_.has_time_for(step, background().expected_secs(source.num_bytes()), clock)))
    return deliver_finished(session);
  // What end() of a hook changes must not get into copies that are still being made.
  if (is_last) source.snapshot().readable();
  last_saved_step_ = step;
  if (in_background_) {
    const Clock::TimePoint taken = clock.now();
    times().follow_save(background().enqueue(std::move(source), save_path(), step), snapshot,
                        taken);
  } else {
    try {
      background().write_now(source, save_path(), step);
    } catch (...) {
      reports_.record_blocked(step, clock.now() - start);
      deliver_finished(session);
      throw;
    }
  }
  times().set_saving(background().busy());
  if (background().num_superseded() > superseded) reports_.record_skipped(step);
  reports_.record_blocked(step, clock.now() - start);
  return deliver_finished(session);
}

void RunSaves::record_ended(const SaveTicket& ticket) {
  const RunTimes now = times().times();
  const double blocked_secs = reports_.record_ended(ticket, now);
  if (interval_.is_set() && !ticket.error())
    interval_.record(blocked_secs, ticket.seconds(SaveStage::kPublished).value_or(0), now.slowed);
}

std::optional<double> RunSaves::take_new_interval() {
  const auto change = interval_.take_change();
  if (!change) return std::nullopt;
  log_info(change->text);
  return change->secs;
}

bool RunSaves::deliver(Session& session) {
  bool stop = false;
  for (const SaveTicket& ticket : background_->take_finished()) {
    record_ended(ticket);
    last_error_ = ticket.error();
    if (last_error_) {
      // Thrown even if a later save succeeds.
      // So is an error of the state, which every later save would meet.
      if (in_background_ && (options_.saving.on_error == SaveErrorPolicy::kStop ||
                             ticket.fault() == SaveFault::kState))
        untold_error_ = last_error_;
      if (last_saved_step_ == ticket.step()) last_saved_step_.reset();
      continue;
    }
    if (std::exchange(needs_fast_place_, false))
      drop_unused_fast_place(saver().files(), save_path());
    log_debug(fmt::format("checkpoint {} took {:.3f} s", ticket.prefix(),
                          ticket.seconds(SaveStage::kPublished).value_or(0)));
    stop = call_after_save(session, ticket.step()) || stop;
  }
  times().set_saving(background_->busy());
  return stop;
}

void RunSaves::throw_untold_error() {
  last_error_ = nullptr;
  std::rethrow_exception(std::exchange(untold_error_, nullptr));
}

void RunSaves::finish(Session& session) {
  const TimeSpan span(times(), TimeKind::kSaving);
  if (const std::string& reason = deadline_.reason_unsaved(); !reason.empty()) {
    deliver_finished(session);
    throw background().late_error(
        fmt::format("the state of step {} is not saved: {}", read_global_step(session), reason));
  }
  if (deadline_.has_begun())
    background().close(deadline_.time(saver().clock()), locks_);
  else
    background().wait();
  deliver_finished(session);
  if (last_error_) std::rethrow_exception(last_error_);
  throw_error_if_to_stop();
}

void RunSaves::release() {
  if (background_) {
    const TimeSpan span(times(), TimeKind::kSaving);
    try {
      if (deadline_.is_limited())
        background_->close(deadline_.time(saver().clock()), locks_);
      else
        background_->wait();
    } catch (const Error& error) {  // Time is up, or the child of a fork unwinds its parent's run.
      log_error(error.what());
    }
    for (const SaveTicket& ticket : background_->take_finished()) record_ended(ticket);
    background_.reset();
  }
  if (locks_) log_debug(fmt::format("{}: {}", options_.checkpoint_dir, to_string(statistics())));
  reports_.write_to(options_.summary_writer);
  reports_.record_in(nullptr);
  writer_.reset();
  locks_.reset();
}

std::string RunSaves::activity() const {
  return is_saving() ? fmt::format("saving step {}", *last_saved_step_) : std::string();
}

std::optional<std::string> RunSaves::reason_to_stop(const StopBefore& stop, bool saves_now) {
  // The ranks of a group stop after the next run.
  const int runs = group_of(*graph_) == nullptr ? 1 : 2;
  return reserve_.reason_to_stop(stop, statistics(), is_saving(), saves_now, runs, saver().clock());
}

bool RunSaves::is_nothing(const SaveSource& source) {
  if (!source.empty()) return false;
  if (!std::exchange(nothing_logged_, true))
    log_warning(fmt::format(
        "{}: nothing is saved: the saver finds neither variables nor objects in the graph",
        options_.checkpoint_dir));
  return true;
}

bool RunSaves::call_after_save(Session& session, int64_t step) {
  if (writer_) writer_->add_session_log(SessionLog::kCheckpoint, step, save_path());
  for (const auto& notify : place_->on_published) notify();
  bool stop = false;
  for (const auto& listener : options_.listeners) {
    if (!listener->after_save(session, step)) continue;
    log_info(fmt::format("a checkpoint listener requested a stop after saving step {}", step));
    stop = true;
  }
  return stop;
}

}  // namespace crochet::inline v0::internal
