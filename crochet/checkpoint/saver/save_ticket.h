// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_bound.h"

namespace crochet::inline v0 {

namespace internal {
class SavePromise;
}  // namespace internal

// The progress of a save. Each stage includes those before it.
enum class SaveStage {
  kSnapshotted,  // The state is held; training may change it.
  kWritten,      // The operating system has all bytes of the tensors.
  kDurable,      // The checkpoint exists, and would survive a power cut.
  kPublished,    // The state file names it, too; older ones that no policy keeps are removed.
};

// Why a save failed, as far as it matters for what follows.
enum class SaveFault {
  kNone,      // It has not failed.
  kPlace,     // The directory or its disk: a later save may succeed there, or in another one.
  kThisSave,  // Its snapshot was torn or lost, another rank failed, or a newer one was preferred.
  kState,     // The state of the program, which no save can store as it is: a name that is used
              // twice, a type that the format does not have, a write that was not announced.
};

CROCHET_EXPORT const char* save_stage_name(SaveStage stage);

// Follows one save; a SavePromise is its other side. A small value; copies follow the same save.
// Thread-safe.
//
// A forked process cannot follow its parent's saves: there, every function except prefix() and
// step() throws FailedPreconditionError.
class CROCHET_EXPORT SaveTicket {
 public:
  // The intended prefix: "runs/digits/model.ckpt-200".
  const std::string& prefix() const;
  // The actual prefix: prefix(), or the same name in the fallback directory. Empty until it is
  // published, and if there was nothing to save.
  std::string location() const;
  int64_t step() const;
  SaveStage stage() const;
  // True once it is published or has finally failed.
  bool finished() const;
  // The error with which the save failed, after all retries; null if it has not failed.
  std::exception_ptr error() const;
  // kNone if it has not failed.
  SaveFault fault() const;
  // Seconds from the snapshot to the stage; unset if it was not reached. For kPublished they end
  // when the state file names it, before older ones are removed.
  std::optional<double> seconds(SaveStage stage) const;
  // The size of data and index; 0 until they are durable.
  uint64_t num_bytes() const;
  // Of these, the bytes in files that it shares with an earlier checkpoint: they were not written.
  uint64_t shared_bytes() const;
  // The number of attempts to write it: 1 without a retry.
  int num_attempts() const;
  // Blocks until the stage is reached. Throws the error of the save if it fails before that.
  void wait(SaveStage stage = SaveStage::kPublished) const;
  // Blocks until the save is published or has failed.
  void wait_finished() const;

 private:
  friend class internal::SavePromise;
  struct State;
  explicit SaveTicket(std::shared_ptr<internal::ProcessBound<State>> state)
      : state_(std::move(state)) {}

  std::shared_ptr<internal::ProcessBound<State>> state_;
};

// The outcome of the saves of a run.
struct CROCHET_EXPORT SaveStatistics {
  // Checkpoints that were published, and those that failed.
  int64_t saved = 0;
  int64_t failed = 0;
  // Saves that were due while another one was being written, and were skipped.
  int64_t skipped = 0;
  // Attempts beyond the first of each save.
  int64_t retries = 0;
  // The number of saved checkpoints that went to the fallback directory.
  int64_t saved_in_fallback = 0;
  // The size of data and index of all saved checkpoints.
  uint64_t bytes = 0;
  // Of these, the bytes in files that a checkpoint shares with an earlier one, and that were not
  // written again.
  uint64_t shared_bytes = 0;
  // The time for which all saves together blocked training.
  double blocked_secs = 0;
  // The time from the snapshot to each stage, summed over all saved checkpoints.
  double written_secs = 0;
  double durable_secs = 0;
  double published_secs = 0;

  // Counts a save that has ended; an empty one counts neither as saved nor as failed.
  void add(const SaveTicket& ticket);
  // Adds those of another saver.
  void add(const SaveStatistics& other);
};

// "6 checkpoints, 1.2 GB, published on average 0.800 s after their snapshots, training was blocked
// for 0.010 s; 1 skipped; 2 retries"
CROCHET_EXPORT std::string to_string(const SaveStatistics& statistics);
CROCHET_EXPORT std::ostream& operator<<(std::ostream& out, const SaveStatistics& statistics);

}  // namespace crochet::inline v0
