// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "crochet/base/export.h"
#include "crochet/hooks/checkpoint_saver_hook.h"

namespace crochet::inline v0 {

// Saves checkpoints as CheckpointSaverHook does, but without stopping training: a snapshot of the
// state is taken between two steps and written by another thread.
//
// The checkpoint of step n holds the state of the variables, objects and hooks after
// exactly n steps, whatever training does meanwhile. A save that fails is retried, logged
// and counted, and training continues (with saving.on_error = kStop the next run throws the error);
// if the last due save fails, end() throws its error. A save that is due while another is running
// waits for it, so none is lost, unless `saving.overlap` chooses otherwise; the last one is never
// skipped.
//
// With saving.deadline_secs = T, a run ends within T seconds of the signal that asked it to end, or
// else of the start of its end. The running save is finished; the last one is started only if it is
// expected, from the time earlier ones took, to finish as well. A save that is due after the signal
// is left to the end. If something is unsaved when time is up, end() throws a
// DeadlineExceededError that names it and the last published checkpoint. The writing thread then
// continues, with the snapshot and the directory's lock, for as long as the process lives; it uses
// only the file system and the clock.
//
// Listeners are called on the training thread, after_save before the next run; they can stop
// training.
class CROCHET_EXPORT AsyncCheckpointSaverHook final : public CheckpointSaverHook {
 public:
  explicit AsyncCheckpointSaverHook(CheckpointSaverHookOptions options)  // Misspelt? Name the type.
      : CheckpointSaverHook(std::move(options), Writing::kInBackground) {}

  int64_t num_saved() const { return statistics().saved; }
  int64_t num_failed() const { return statistics().failed; }
  // Due saves that were not made: with kSkip because another one was being written, with
  // kNewestWins because a newer one replaced them.
  int64_t num_skipped() const { return statistics().skipped; }
};

}  // namespace crochet::inline v0
