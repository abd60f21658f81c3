// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/async_checkpoint_saver_hook.h"

#include "crochet/base/error.h"
#include "crochet/base/log.h"

namespace crochet {

AsyncCheckpointSaverHook::AsyncCheckpointSaverHook(CheckpointSaverHookOptions options)
    : CheckpointSaverHook(std::move(options)) {}

BackgroundSaver& AsyncCheckpointSaverHook::background() {
  if (!background_) background_ = std::make_unique<BackgroundSaver>(saver());
  return *background_;
}

void AsyncCheckpointSaverHook::after_create_session(Session& session, Coordinator& coordinator) {
  if (background_) background_->wait();  // What an earlier session handed over.
  CheckpointSaverHook::after_create_session(session, coordinator);
}

std::optional<SessionRunArgs> AsyncCheckpointSaverHook::before_run(SessionRunContext& context) {
  if (deliver_finished(context.session())) context.request_stop("a listener asks for it");
  return CheckpointSaverHook::before_run(context);
}

bool AsyncCheckpointSaverHook::save(Session& session, int64_t step) {
  call_before_save(session, step);
  background().enqueue(saver().snapshot(session), save_path(), step);
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
