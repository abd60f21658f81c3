// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "crochet/checkpoint/save_policy.h"
#include "crochet/checkpoint/save_ticket.h"
#include "crochet/checkpoint/saver.h"

namespace crochet {

struct BackgroundSaverOptions {
  // A save that fails is written again, to new files, this often, after waiting
  // 1 s, 2 s, 4 s, ... A newer snapshot, or a signal to end, ends the waiting.
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
// enqueue() and the rest are for one thread, the training thread.
class BackgroundSaver {
 public:
  // Requires: the saver outlives this.
  explicit BackgroundSaver(Saver& saver, const BackgroundSaverOptions& options = {});
  // Finishes the running save, retries included.
  ~BackgroundSaver();

  // Hands over a snapshot to be written as "<save_path>-<step>".
  SaveTicket enqueue(Snapshot snapshot, const std::string& save_path, int64_t step);

  // True while a save is being written, retried or waiting to be written.
  bool busy();
  // How many saves were given up for newer ones before they were begun.
  int64_t num_superseded();

  // The saves that ended since the last call, published or failed, in order; without those that
  // were given up for newer ones.
  std::vector<SaveTicket> take_finished();

  // Blocks until nothing is left to write.
  void wait();

 private:
  struct Job {
    Snapshot snapshot;
    SaveTicket ticket;
    std::shared_ptr<void> announcement;  // To the saver, until the job has ended.
  };

  // Takes the place of a job that has not begun. Returns that job, if there was one.
  std::optional<Job> replace_next(Job job);
  void work();
  // Tries until the job is published, is given up, or gives way to a newer one.
  void save(Job& job);

  Saver& saver_;
  const BackgroundSaverOptions options_;

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::optional<Job> next_;
  int64_t num_superseded_ = 0;
  bool busy_ = false;                                 // The worker has a job.
  std::optional<std::stop_source> waiting_to_retry_;  // Ends that waiting.
  std::vector<SaveTicket> finished_;
  std::atomic<bool> any_finished_ = false;  // Read without the mutex, in every step.
  bool ending_ = false;

  std::thread worker_;  // Started with the first save.
};

}  // namespace crochet
