// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/async_checkpoint_saver_hook.h"

#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"

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
  if (options().on_save_error != SaveErrorPolicy::kStop || !last_error_) return;
  std::rethrow_exception(std::exchange(last_error_, nullptr));
}

void AsyncCheckpointSaverHook::end(Session& session) {
  if (background_ && options().overlap == SaveOverlapPolicy::kSkip) background_->wait();
  CheckpointSaverHook::end(session);
}

bool AsyncCheckpointSaverHook::save(Session& session, int64_t step) {
  if (options().overlap == SaveOverlapPolicy::kSkip && background().busy()) {
    ++num_skipped_;
    log_warning("the checkpoint of step {} is skipped: another one is still being written", step);
    return deliver_finished(session);
  }
  call_before_save(session, step);
  const int64_t superseded = background().num_superseded();
  background().enqueue(saver().snapshot(session), save_path(), step);
  num_skipped_ += background().num_superseded() - superseded;
  last_saved_step_ = step;
  return deliver_finished(session);
}

void AsyncCheckpointSaverHook::finish(Session& session) {
  background().wait();
  deliver_finished(session);
  if (last_error_) std::rethrow_exception(last_error_);
}

bool AsyncCheckpointSaverHook::deliver_finished(Session& session) {
  if (!background_) return false;
  bool stop = false;
  for (const SaveTicket& ticket : background_->take_finished()) {
    last_error_ = ticket.error();
    if (last_error_) {
      ++num_failed_;
      if (last_saved_step_ == ticket.step()) last_saved_step_.reset();
      continue;
    }
    ++num_saved_;
    log_debug("checkpoint {} took {:.3f} s", ticket.prefix(),
              ticket.seconds(SaveStage::kPublished).value_or(0));
    stop = call_after_save(session, ticket.step()) || stop;
  }
  return stop;
}

void AsyncCheckpointSaverHook::release() {
  background_.reset();
  CheckpointSaverHook::release();
}

}  // namespace crochet
