// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/background_copier.h"

namespace crochet::local {

// The copies of one snapshot.
class BackgroundCopier::Batch final : public PendingCopies {
 public:
  struct Job {
    ArrayView from;
    Tensor holder;  // Keeps the memory.
    std::span<std::byte> to;
  };

  explicit Batch(std::vector<Job> jobs) : jobs_(std::move(jobs)) {}

  void wait() override {
    std::unique_lock lock(mutex_);
    done_changed_.wait(lock, [this] { return done_; });
  }

  void make() {
    for (const Job& job : jobs_) copy_out(job.from, job.to);
    jobs_.clear();
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    done_changed_.notify_all();
  }

 private:
  std::vector<Job> jobs_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable done_changed_;
  bool done_ = false;
};

BackgroundCopier::~BackgroundCopier() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

std::shared_ptr<PendingCopies> BackgroundCopier::submit(std::vector<Copy> copies) {
  std::vector<Batch::Job> jobs;
  for (Copy& copy : copies) {
    // The snapshot's tensor shares this memory and is not read before wait().
    const std::span<const std::byte> bytes = copy.to.bytes();
    const std::span<std::byte> to(const_cast<std::byte*>(bytes.data()), bytes.size());
    jobs.push_back({std::move(copy.from), std::move(copy.to), to});
  }
  auto batch = std::make_shared<Batch>(std::move(jobs));
  {
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch);
    if (!worker_.joinable()) worker_ = std::thread(&BackgroundCopier::work, this);
  }
  changed_.notify_all();
  return batch;
}

void BackgroundCopier::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return batches_.empty(); });
}

void BackgroundCopier::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || !batches_.empty(); });
    if (batches_.empty()) return;
    const std::shared_ptr<Batch> batch = batches_.front();
    lock.unlock();
    batch->make();
    lock.lock();
    batches_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace crochet::local
