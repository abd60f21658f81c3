// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/checkpoint/saver/publisher.h"
#include "crochet/checkpoint/saver/save_estimate.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/session/snapshot.h"

namespace crochet::internal {

struct SaveJob {
  Snapshot snapshot;
  SaveTicket ticket;
  std::shared_ptr<void> announcement;  // To the saver, until the job has ended.
};

// What a BackgroundSaver and its thread share. The thread holds it too, and all that it needs is in
// here or outlives the process's saves (file system and clock): so it can be left behind.
//
// Thread-safe; work() is the thread's, the rest is for the caller that saves.
class SaveWorker {
 public:
  SaveWorker(std::shared_ptr<Publisher> saver, int max_retries);

  // Writes jobs until end() was called and none is left.
  void work();
  // Writes the job that is next, if there is one, on the calling thread, for want of a thread of
  // its own. Requires: work() is not running.
  void run_next();
  void end();

  // The job that is next, which is returned if there was another one that had not begun.
  std::optional<SaveJob> replace_next(SaveJob job);
  // Waits until no job is next: the worker has it.
  void wait_for_place();
  // Waits until the worker has nothing to do, or a signal is pending: then false. A job that waits
  // to be retried gives way.
  bool wait_for_turn();
  // Waits until the worker has nothing to do; logs what it waits for every so many seconds.
  void wait(double progress_log_secs);
  // The same by the saver's clock. False if the time came first and a job is not saved yet: memory
  // may still be freed.
  bool wait_until(Clock::TimePoint deadline, double progress_log_secs);
  // No pauses between attempts any more: time is short.
  void hurry();
  // Waits for the copies of all snapshots, then has the worker hold something until it ends.
  void leave_with(std::shared_ptr<void> held);

  bool busy();
  int64_t num_superseded();
  std::vector<SaveTicket> take_finished();
  // Those that are being saved or next.
  std::vector<SaveTicket> unfinished();
  // Where the last one was published; "" if none was.
  std::string last_published();
  SaveEstimate estimate();

 private:
  bool is_idle() const { return !next_ && !busy_; }
  // Nothing is left to be saved, though memory may still be freed.
  bool is_saved() const { return !next_ && !running_; }
  // Tries until the job is published, is given up, or gives way to a newer one.
  void save(SaveJob& job);
  // Fails it with an error that no other attempt can help.
  void give_up_at_once(SaveJob& job, const std::exception_ptr& error);
  // Null, or why it failed.
  std::exception_ptr attempt(SaveJob& job, SpaceCheck check);
  bool is_last(int attempt);
  void give_up(SaveJob& job, const std::exception_ptr& error, int num_attempts);
  // False if the job is to give way.
  bool pause(Clock::Duration duration);

  const std::shared_ptr<Publisher> saver_;
  const int max_retries_;

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::optional<SaveJob> next_;
  std::shared_ptr<SaveJob> running_;  // Until it is saved or has failed.
  bool busy_ = false;                 // And until its memory is free.
  bool newer_is_due_ = false;         // Somebody waits for the turn.
  bool in_hurry_ = false;
  bool ending_ = false;
  std::optional<std::stop_source> pause_;  // Ends the pause before a retry.
  std::optional<std::stop_source> idle_;   // Ends a wait with a deadline.
  int64_t num_superseded_ = 0;
  std::string last_published_;
  SaveEstimate estimate_;
  std::vector<SaveTicket> finished_;
  std::atomic<bool> any_finished_ = false;  // Read without the mutex, in every step.
  std::shared_ptr<void> held_;
};

}  // namespace crochet::internal
