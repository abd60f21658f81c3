// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/checkpoint/background_saver.h"
#include "crochet/hooks/checkpoint_saver_hook.h"

namespace crochet {

// Saves checkpoints as CheckpointSaverHook does, without stopping training: the state of one
// step is taken as a snapshot between two steps and written by another thread.
//
// The checkpoint of step n holds the variables, objects and hooks' state after
// exactly n steps, whatever training does meanwhile. A save that fails is retried, logged
// and counted, and training goes on (with on_save_error = kStop the next run throws why); if the last
// due one could not be written, end() throws why. A save that is due while one is running waits
// for it, so none is lost, unless `overlap` says otherwise; the last one is always written.
//
// Listeners are called on the training thread: after_save before the next run, and can stop
// training.
class AsyncCheckpointSaverHook final : public CheckpointSaverHook {
 public:
  explicit AsyncCheckpointSaverHook(CheckpointSaverHookOptions options);

  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void end(Session& session) override;

  int64_t num_saved() const { return num_saved_; }
  int64_t num_failed() const { return num_failed_; }
  // Saves that were due while another one was being written, and not made: with kSkip, and
  // with kNewestWins.
  int64_t num_skipped() const { return num_skipped_; }

 protected:
  bool save(Session& session, int64_t step) override;
  void finish(Session& session) override;
  // A snapshot that is held is still written, before the lock is given back.
  void release() override;

 private:
  BackgroundSaver& background();
  // Takes note of saves that ended. True if a listener asks to stop.
  bool deliver_finished(Session& session);
  void throw_error_if_to_stop();

  std::unique_ptr<BackgroundSaver> background_;  // Started with the first save.
  std::exception_ptr last_error_;                // Why the last save that ended failed.
  int64_t num_saved_ = 0;
  int64_t num_failed_ = 0;
  int64_t num_skipped_ = 0;
};

}  // namespace crochet
