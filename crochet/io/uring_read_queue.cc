// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include "crochet/base/process_owner.h"
#include "crochet/io/errno_error.h"
#include "crochet/io/read_queue.h"
#include "crochet/io/uring.h"

namespace crochet {
namespace {

constexpr const char* kName = "io_uring";

// Consecutive replies that the system is too busy to accept a request or return a completion.
constexpr int kMaxRefusals = 1000;

class UringReadQueue final : public ReadQueue {
 public:
  explicit UringReadQueue(size_t num_slots) {
    const int result = make_uring(static_cast<unsigned>(num_slots), &ring_);
    if (result < 0) throw_errno(-result, kName, "setup");
  }

  ~UringReadQueue() override {
    if (!owner_.is_here()) {  // The mappings do not exist here, and the reads are the parent's.
      ::close(ring_.ring_fd);
      return;
    }
    try {
      while (num_under_way_ > 0) wait();
    } catch (const Error&) {
      // Destroying the ring below cancels the rest.
    }
    ::io_uring_queue_exit(&ring_);
  }

  void submit(size_t slot, int file, uint64_t offset, std::span<std::byte> to) override {
    struct io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    if (entry == nullptr) throw_errno(EBUSY, kName, "submit");
    ::io_uring_prep_read(entry, file, to.data(), static_cast<unsigned>(to.size()), offset);
    ::io_uring_sqe_set_data64(entry, slot);
    ++num_under_way_;
    // Requests not accepted now are submitted by the next call.
    check(::io_uring_submit(&ring_), "submit");
  }

  Completion wait() override {
    struct io_uring_cqe* entry = nullptr;
    while (::io_uring_peek_cqe(&ring_, &entry) != 0)
      check(::io_uring_submit_and_wait(&ring_, 1), "wait");
    const Completion completion{::io_uring_cqe_get_data64(entry), entry->res};
    ::io_uring_cqe_seen(&ring_, entry);
    --num_under_way_;
    return completion;
  }

 private:
  void check(int result, const char* operation) {
    const bool is_refusal = result == -EAGAIN || result == -EBUSY;
    num_refusals_ = is_refusal ? num_refusals_ + 1 : 0;
    if (result >= 0 || result == -EINTR || (is_refusal && num_refusals_ < kMaxRefusals)) return;
    throw_errno(-result, kName, operation);
  }

  const ProcessOwner owner_;
  struct io_uring ring_;
  int num_refusals_ = 0;
  size_t num_under_way_ = 0;
};

}  // namespace

std::unique_ptr<ReadQueue> make_uring_read_queue(size_t num_slots) {
  return std::make_unique<UringReadQueue>(num_slots);
}

}  // namespace crochet
