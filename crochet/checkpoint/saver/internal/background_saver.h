// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/internal/thread.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/checkpoint/saver/saver_options.h"

namespace crochet::inline v0::internal {

struct BackgroundSaverOptions {
  // How many times a failed save is retried, with new files, after waiting 1 s, 2 s, 4 s, ...,
  // before the saver's fallback directory is tried, if it has one. A newer snapshot ends the wait,
  // and so does a signal to end: then the save is tried once more. So no save that has begun is
  // abandoned for a newer one, however often saves are due. An error that every attempt would hit,
  // as for a torn snapshot, ends the save at once.
  int max_retries = 3;
  SaveOverlapPolicy overlap = SaveOverlapPolicy::kWait;
  // The interval at which wait() logs what it is waiting for.
  double progress_log_secs = 10;
};

// Writes snapshots on its own thread, one after another, while training continues.
//
// By default a save that is due while one is being written waits for it: the caller blocks, so at
// most one snapshot is held in addition to the one being written, and no save is lost. With
// kNewestWins it does not block, and a snapshot that is held but not being written is skipped for a
// newer one; its ticket has a CancelledError. With kSkip the caller checks busy() before it takes a
// snapshot. A save that waits to be retried is retried at once, and for the last time, if a newer
// one is due. Failures are logged, and kept in the tickets.
//
// The thread shares the saver's publisher, not the saver: close() with a deadline can detach it. If
// the system cannot start a thread, enqueue() logs a warning and writes the snapshot itself; the
// next save tries to start one again.
//
// In a forked process, every function except take_finished() throws FailedPreconditionError, and
// the destructor does not wait.
//
// Not thread-safe; used by the training thread.
class CROCHET_EXPORT BackgroundSaver {
 public:
  explicit BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options = {});
  // Finishes the running save, including retries, unless it was detached by close().
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  // Enqueues a snapshot to be written as "<save_path>-<step>".
  SaveTicket enqueue(SaveSource source, const std::string& save_path, int64_t step);
  // The same for the checkpoint `prefix`, or for this rank's part of it.
  SaveTicket enqueue_as(SaveSource source, const std::string& prefix, int64_t step);
  // Writes it on the calling thread, once, and to the fallback directory if that fails. The next
  // take_finished() returns the ticket. Requires: all enqueued saves have finished.
  // Throws: as Saver::write().
  void write_now(const SaveSource& source, const std::string& save_path, int64_t step);
  // For callers that would rather wait before they take a snapshot than hold two: blocks until a
  // save would start at once. A save that waits to be retried is retried at once, and for the last
  // time. False if a signal asks the process to end before that.
  // `while_waiting`, if given, is called about ten times a second; what it throws ends the wait.
  bool wait_for_turn(const std::function<void()>& while_waiting = {});

  // True while a save is being written, retried or waiting to be written.
  bool busy();
  // The number of saves that were skipped for newer ones before they began.
  int64_t num_superseded();

  // The saves that ended since the last call, published or failed, in order; without those
  // skipped for newer ones. Empty in a forked process.
  std::vector<SaveTicket> take_finished();
  // False if that returns nothing; cheap enough for each step.
  bool has_finished() const;

  // Blocks until nothing is left to write.
  void wait();
  // The same up to a deadline by the saver's clock; false if that came first.
  bool wait_until(Clock::TimePoint deadline);
  // Waits until `deadline`; from now on a save that fails is retried at once. At the deadline, the
  // thread is detached with its remaining work, once the snapshots' copies are made: `held` (such
  // as a directory's lock) is released when it ends. Later saves have a new thread. If everything
  // is saved and the thread only has memory to free, it is detached without an error. Throws:
  // DeadlineExceededError that names the saves that are not complete, and the last published
  // checkpoint.
  void close(Clock::TimePoint deadline, std::shared_ptr<void> held = {});

  // The expected duration of a save of `num_bytes` bytes, estimated from earlier saves; without
  // any, that of a slow disk. Rather too long than too short.
  double expected_secs(uint64_t num_bytes);
  // The last published checkpoint, or "none of this run".
  std::string last_published();
  // The error of whatever was not saved in time: what that is, and the last published checkpoint.
  DeadlineExceededError late_error(const std::string& what);
  // The saves that are not complete: "d/model.ckpt-120 (step 120: written)".
  // "" if there are none.
  std::string unfinished();

 private:
  struct Job;
  struct Queue;
  struct State {
    std::shared_ptr<Queue> queue;  // The thread shares it.
    Thread thread = {};            // Started with the first save. Last: it ends first.
  };

  // False if the system cannot start a thread.
  bool start();
  void detach_worker(std::shared_ptr<void> held);

  const BackgroundSaverOptions options_;
  bool is_logged_ = false;  // That no thread can be started.
  const ProcessBound<State> state_;
};

}  // namespace crochet::inline v0::internal
