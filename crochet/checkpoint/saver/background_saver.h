// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/base/process_bound.h"
#include "crochet/base/thread.h"
#include "crochet/checkpoint/saver/save_policy.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/checkpoint/saver/saver.h"

namespace crochet {

struct BackgroundSaverOptions {
  // A save that fails is written again, to new files, this often, after waiting
  // 1 s, 2 s, 4 s, ..., and then into the saver's fallback directory, if it has one. A newer
  // snapshot ends the waiting, and a signal to end, after which it is tried once more. An error
  // that every attempt would meet, as for a torn snapshot, ends the save at once.
  int max_retries = 3;
  SaveOverlapPolicy overlap = SaveOverlapPolicy::kWait;
  // How often wait() logs what it is waiting for.
  double progress_log_secs = 10;
};

// Writes snapshots on a thread of its own, one after another, while training goes on.
//
// By default a save that is due while one is being written waits for it: the caller blocks, so at
// most one snapshot is held beside the one being written and no save is lost. With kNewestWins it
// does not block, and a snapshot that is held but not being written is given up for a newer
// one; its ticket has a CancelledError. With kSkip the caller asks busy() before it takes a
// snapshot. One that waits to be retried gives way to the newer one. Failures are logged, and stay
// in the tickets.
//
// The thread shares what the saver is, not the saver: close() with a deadline can leave it behind.
// If the system gives no thread, with a warning, enqueue() writes the snapshot itself; the next
// save asks for a thread again.
//
// In a process that was forked since it was made, all but take_finished() throws
// FailedPreconditionError, and the destructor waits for nothing.
//
// enqueue() and the rest are for one thread, the training thread.
class BackgroundSaver {
 public:
  explicit BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options = {});
  // Finishes the running save, retries included, unless it was left behind.
  ~BackgroundSaver();
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;

  // Hands over a snapshot to be written as "<save_path>-<step>".
  SaveTicket enqueue(SaveSource source, const std::string& save_path, int64_t step);
  // Writes it on the calling thread, once, and to the fallback directory if that fails. The ticket
  // is among the next take_finished(). Requires: nothing was handed over that is not finished.
  // Throws: as Saver::write().
  void write_now(const SaveSource& source, const std::string& save_path, int64_t step);
  // For who would rather wait before the snapshot is taken than hold two: blocks until a save would
  // be begun at once. One that waits to be retried gives way. False if a signal asks to end before.
  bool wait_for_turn();

  // True while a save is being written, retried or waiting to be written.
  bool busy();
  // How many saves were given up for newer ones before they were begun.
  int64_t num_superseded();

  // The saves that ended since the last call, published or failed, in order; without those that
  // were given up for newer ones. In a forked process: none.
  std::vector<SaveTicket> take_finished();

  // Blocks until nothing is left to write.
  void wait();
  // The same until a point in time, of the saver's clock; false if it came first.
  bool wait_until(Clock::TimePoint deadline);
  // Waits so long; a save that fails is tried again at once from now on. If time is up, the thread
  // is left behind with what it has, once the snapshots' copies are made: `held` (a
  // directory's lock, say) is given up when it ends. Later saves have a new thread. A thread that
  // only has memory to free, since all is saved, is left behind without an error.
  // Throws: DeadlineExceededError that names what is not saved yet, and the last checkpoint that
  // is.
  void close(Clock::TimePoint deadline, std::shared_ptr<void> held = {});

  // For how long a save of so many bytes is expected to take, from those that this one made;
  // without any, as on a slow disk. Rather too long than too short.
  double expected_secs(uint64_t num_bytes);
  // The checkpoint that was published last, or "none of this run".
  std::string last_published();
  // What is not saved yet: "d/model.ckpt-120 (step 120: written)".
  // "" if all is saved.
  std::string unfinished();

 private:
  struct Job;
  struct Queue;
  struct State {
    std::shared_ptr<Queue> queue;  // The thread shares it.
    Thread thread = {};            // Started with the first save. Last: it ends first.
  };

  // False if the system gives no thread.
  bool start();
  void leave_behind(std::shared_ptr<void> held);

  const BackgroundSaverOptions options_;
  bool is_told_ = false;  // That there is no thread.
  const ProcessBound<State> state_;
};

}  // namespace crochet
