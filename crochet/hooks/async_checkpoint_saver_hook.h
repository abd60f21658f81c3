// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "crochet/hooks/checkpoint_saver_hook.h"

namespace crochet {

// Saves checkpoints as CheckpointSaverHook does, without stopping training: the state of one
// step is taken as a snapshot between two steps and written by another thread.
//
// The checkpoint of step n holds the variables, objects and hooks' state after
// exactly n steps, whatever training does meanwhile. A save that fails is retried, logged
// and counted, and training goes on (with on_save_error = kStop the next run throws why); if the
// last due one could not be written, end() throws why. A save that is due while one is running
// waits for it, so none is lost, unless `overlap` says otherwise; the last one is always written.
//
// With deadline_secs = T, a run ends within T seconds of the signal that asks for it, or of the
// beginning of its end. The save that is being written is finished; the last one is begun if,
// by what earlier ones took, it can be finished, too. A save due behind the signal is left to the
// end. If something is unsaved when time is up, end() throws a DeadlineExceededError that
// names it and the last checkpoint that is published, and leaves the writing thread behind, with
// the snapshot and the directory's lock: it goes on for as long as the process lives, and needs
// only file system and clock.
//
// Listeners are called on the training thread: after_save before the next run, and can stop
// training.
class AsyncCheckpointSaverHook final : public CheckpointSaverHook {
 public:
  explicit AsyncCheckpointSaverHook(CheckpointSaverHookOptions options)
      : CheckpointSaverHook(std::move(options), Writing::kInBackground) {}

  int64_t num_saved() const { return statistics().saved; }
  int64_t num_failed() const { return statistics().failed; }
  // Saves that were due while another one was being written, and not made: with kSkip, and
  // with kNewestWins.
  int64_t num_skipped() const { return statistics().skipped; }
};

}  // namespace crochet
