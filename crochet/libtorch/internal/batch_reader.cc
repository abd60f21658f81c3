// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/batch_reader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "crochet/base/internal/process_bound.h"
#include "crochet/base/internal/thread.h"

namespace crochet::inline v0::libtorch::internal {

class BatchReader::Queue {
 public:
  Queue(Read read, bool has_thread) : read_(std::move(read)), has_thread_(has_thread) {}

  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_ = crochet::internal::Thread();
  }

  void request(std::vector<size_t> elements) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::make_shared<Request>(Request{.elements = std::move(elements)}));
    if (has_thread_ && !thread_.joinable())
      thread_ = crochet::internal::Thread("libtorch::Batches", [this] { work(); });
    changed_.notify_all();
  }

  size_t num_requested() {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }

  Batch take() {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Request> first = requests_.front();
    if (!has_thread_) read(*first);
    changed_.wait(lock, [&] { return first->is_read; });
    requests_.pop_front();
    if (first->error) std::rethrow_exception(first->error);
    return std::move(first->batch);
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    requests_.clear();
  }

 private:
  struct Request {
    std::vector<size_t> elements;
    Batch batch = {};
    std::exception_ptr error = {};
    bool is_read = false;
  };

  void read(Request& request) const {
    try {
      request.batch = read_(request.elements);
    } catch (...) {
      request.error = std::current_exception();
    }
    request.is_read = true;
  }

  std::shared_ptr<Request> first_unread() const {
    const auto found = std::find_if(requests_.begin(), requests_.end(),
                                    [](const auto& request) { return !request->is_read; });
    return found == requests_.end() ? nullptr : *found;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      std::shared_ptr<Request> next;
      changed_.wait(lock, [&] { return ending_ || (next = first_unread()) != nullptr; });
      if (ending_) return;
      Request result{.elements = next->elements};  // The caller looks at `next` meanwhile.
      lock.unlock();
      read(result);
      lock.lock();
      *next = std::move(result);
      changed_.notify_all();
    }
  }

  const Read read_;
  const bool has_thread_;

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Request>> requests_;
  bool ending_ = false;
  crochet::internal::Thread thread_;
};

BatchReader::BatchReader(Read read, bool has_thread)
    : queue_(std::make_unique<crochet::internal::ProcessBound<Queue>>(
          "libtorch::Batches", std::move(read), has_thread)) {}

BatchReader::~BatchReader() = default;

void BatchReader::request(std::vector<size_t> elements) { (*queue_)->request(std::move(elements)); }

size_t BatchReader::num_requested() const { return (*queue_)->num_requested(); }

BatchReader::Batch BatchReader::take() { return (*queue_)->take(); }

void BatchReader::clear() { (*queue_)->clear(); }

}  // namespace crochet::inline v0::libtorch::internal
