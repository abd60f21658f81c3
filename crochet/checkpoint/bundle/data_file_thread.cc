// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/data_file_thread.h"

#include <utility>

namespace crochet::inline v0::internal {

DataFileThread::DataFileThread(DataFile& file, std::atomic<bool>& has_failed)
    : file_(file), has_failed_(has_failed) {
  // From a saver's thread, which has a low priority, the new thread has it, too.
  thread_ = Thread("crochet data file", [this] { run(); });
}

DataFileThread::~DataFileThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
    is_complete_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DataFileThread::add(const TensorToWrite& added, StoredPlace& place) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({added, &place});
  }
  changed_.notify_one();
}

void DataFileThread::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_complete_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

std::optional<DataFileThread::Job> DataFileThread::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !jobs_.empty() || is_complete_; });
  if (jobs_.empty()) return std::nullopt;
  std::optional<Job> job(std::move(jobs_.front()));
  jobs_.pop_front();
  return job;
}

void DataFileThread::run() noexcept {
  while (const auto job = next()) {
    if (has_failed_) continue;
    try {
      *job->place = file_.append(job->added);
    } catch (...) {
      error_ = std::current_exception();
      has_failed_ = true;
    }
  }
}

}  // namespace crochet::inline v0::internal
