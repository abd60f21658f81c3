// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "crochet/base/internal/thread.h"
#include "crochet/checkpoint/bundle/data_file.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"

namespace crochet::inline v0::internal {

// A thread that appends to one data file what another thread adds, while others append to theirs.
class DataFileThread {
 public:
  // `file` and `has_failed` are not owned and must outlive this. `has_failed` is shared by the
  // files of a checkpoint: once it is true, this one appends no more.
  // Throws: ResourceExhaustedError if the system cannot start a thread.
  DataFileThread(DataFile& file, std::atomic<bool>& has_failed);
  // Waits for the tensor that is being appended, and skips the others.
  ~DataFileThread();
  DataFileThread(const DataFileThread&) = delete;
  DataFileThread& operator=(const DataFileThread&) = delete;

  // `place` is set once the elements have been appended. Requires: `added.tensor` and `place` are
  // valid until finish() has returned.
  void add(const TensorToWrite& added, StoredPlace& place);
  // Waits until everything has been appended. Throws the error of this file.
  void finish();

 private:
  struct Job {
    TensorToWrite added;
    StoredPlace* place;
  };

  void run() noexcept;
  std::optional<Job> next();

  DataFile& file_;                 // Not owned; outlives this.
  std::atomic<bool>& has_failed_;  // Not owned; outlives this.

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool is_complete_ = false;  // No more will be added.

  std::exception_ptr error_;  // Written by the thread, read once it has ended.
  Thread thread_;             // The last member: it uses the others.
};

}  // namespace crochet::inline v0::internal
