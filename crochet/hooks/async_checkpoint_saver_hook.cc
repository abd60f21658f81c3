// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/async_checkpoint_saver_hook.h"

#include <algorithm>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet {

AsyncCheckpointSaverHook::AsyncCheckpointSaverHook(CheckpointSaverHookOptions options)
    : CheckpointSaverHook(std::move(options)) {}

BackgroundSaver& AsyncCheckpointSaverHook::background() {
  if (!background_)
    background_ = std::make_unique<BackgroundSaver>(
        saver(), BackgroundSaverOptions{.overlap = options().overlap});
  return *background_;
}

void AsyncCheckpointSaverHook::after_create_session(Session& session, Coordinator& coordinator) {
  if (background_) background_->wait();  // What an earlier session handed over.
  CheckpointSaverHook::after_create_session(session, coordinator);
}

std::optional<SessionRunArgs> AsyncCheckpointSaverHook::before_run(SessionRunContext& context) {
  if (deliver_finished(context.session())) context.request_stop("a listener asks for it");
  throw_error_if_to_stop();
  return CheckpointSaverHook::before_run(context);
}

void AsyncCheckpointSaverHook::throw_error_if_to_stop() {
  if (!untold_error_) return;
  last_error_ = nullptr;
  std::rethrow_exception(std::exchange(untold_error_, nullptr));
}

void AsyncCheckpointSaverHook::end(Session& session) {
  if (options().deadline_secs)
    finish_running(session);
  else if (background_ && options().overlap == SaveOverlapPolicy::kSkip)
    background_->wait();
  CheckpointSaverHook::end(session);
}

void AsyncCheckpointSaverHook::finish_running(Session& session) {
  const Clock::TimePoint deadline = this->deadline();
  if (!background_ || !background_->busy()) return;
  log_info("{:.1f} s are left to end: {} is finished first",
           to_seconds(deadline - saver().clock().now()), background_->unfinished());
  try {
    background_->close(deadline, locks());
  } catch (const DeadlineExceededError& error) {
    const int64_t step = read_global_step(session);
    const bool is_lost = last_saved_step_ != step && !step_is_rejected();
    release();
    if (!is_lost) throw;
    throw DeadlineExceededError("the state of step {} is not saved; {}", step, error.what());
  }
  deliver_finished(session);
}

bool AsyncCheckpointSaverHook::save(Session& session, int64_t step) {
  if (is_left_to_the_end(step)) return deliver_finished(session);
  if (has_deadline()) return save_before_deadline(session, step);
  if (options().overlap == SaveOverlapPolicy::kSkip && background().busy()) {
    log_warning("the checkpoint of step {} is skipped: another one is still being written", step);
    note_skipped(step);
    return deliver_finished(session);
  }
  const Clock::TimePoint start = saver().clock().now();
  // Before the snapshot is taken: one more than is being written would cost its memory.
  if (options().overlap == SaveOverlapPolicy::kWait && !background().wait_for_turn() &&
      is_left_to_the_end(step))
    return deliver_finished(session);
  hand_over(session, step);
  note_blocked(step, saver().clock().now() - start);
  return deliver_finished(session);
}

void AsyncCheckpointSaverHook::hand_over(Session& session, int64_t step) {
  call_before_save(session, step);
  const int64_t superseded = background().num_superseded();
  Snapshot snapshot = saver().snapshot(session, saver().prefix_of(save_path(), step));
  if (is_nothing(snapshot)) return;
  background().enqueue(std::move(snapshot), save_path(), step);
  if (background().num_superseded() > superseded) note_skipped(step);
  last_saved_step_ = step;
}

bool AsyncCheckpointSaverHook::save_before_deadline(Session& session, int64_t step) {
  if (secs_left() <= 0) {
    left_unsaved_ = "no time is left";
    return false;
  }
  call_before_save(session, step);
  Snapshot snapshot = saver().snapshot(session, saver().prefix_of(save_path(), step));
  if (is_nothing(snapshot)) return false;
  const double expected = background().expected_secs(snapshot.num_bytes());
  if (expected > secs_left()) {
    left_unsaved_ = fmt::format("it is expected to take {:.1f} s, {:.1f} s are left", expected,
                                std::max(0.0, secs_left()));
    return false;
  }
  log_info("step {} is saved: it is expected to take {:.1f} s, {:.1f} s are left", step, expected,
           secs_left());
  background().enqueue(std::move(snapshot), save_path(), step);
  last_saved_step_ = step;
  return false;
}

void AsyncCheckpointSaverHook::finish(Session& session) {
  if (!left_unsaved_.empty()) {
    deliver_finished(session);
    throw DeadlineExceededError(
        "the state of step {} is not saved: {}; the last checkpoint that is published: {}",
        read_global_step(session), left_unsaved_, background().last_published());
  }
  if (has_deadline())
    background().close(deadline(), locks());
  else
    background().wait();
  deliver_finished(session);
  if (last_error_) std::rethrow_exception(last_error_);
  throw_error_if_to_stop();
}

bool AsyncCheckpointSaverHook::deliver_finished(Session& session) {
  if (!background_) return false;
  bool stop = false;
  for (const SaveTicket& ticket : background_->take_finished()) {
    note_ended(ticket);
    last_error_ = ticket.error();
    if (last_error_) {
      // A later save that is well does not make up for it.
      if (options().on_save_error == SaveErrorPolicy::kStop) untold_error_ = last_error_;
      if (last_saved_step_ == ticket.step()) last_saved_step_.reset();
      continue;
    }
    log_debug("checkpoint {} took {:.3f} s", ticket.prefix(),
              ticket.seconds(SaveStage::kPublished).value_or(0));
    stop = call_after_save(session, ticket.step()) || stop;
  }
  return stop;
}

void AsyncCheckpointSaverHook::release() {
  if (background_) {
    try {
      if (options().deadline_secs)
        background_->close(deadline(), locks());
      else
        background_->wait();
    } catch (const Error& error) {  // The time is up, or a fork's child unwinds its parent's run.
      log_error("{}", error.what());
    }
    for (const SaveTicket& ticket : background_->take_finished()) note_ended(ticket);
    background_.reset();
  }
  CheckpointSaverHook::release();
}

}  // namespace crochet
