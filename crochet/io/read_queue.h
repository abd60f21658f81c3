// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace crochet {

// Reads that are under way at once, and end in any order.
//
// Not thread-safe.
class ReadQueue {
 public:
  struct Completion {
    size_t slot = 0;
    // The number of bytes, which may be fewer than were asked for and is 0 at the end of the
    // file, or a negated number of <errno.h>.
    int result = 0;
  };

  // Waits for what is under way: its memory may go afterwards.
  virtual ~ReadQueue() = default;

  // Begins to read from an open file. Requires: nothing is under way with this number of a slot,
  // which the completion has; the memory stays until then.
  // Throws: an error if the queue is of no more use; so does wait().
  virtual void submit(size_t slot, int file, uint64_t offset, std::span<std::byte> to) = 0;
  // Returns once a read has ended. Requires: one is under way.
  virtual Completion wait() = 0;
};

// A queue for up to so many reads by io_uring.
// Throws: an error with what the system said if there is none to be had.
std::unique_ptr<ReadQueue> make_uring_read_queue(size_t num_slots);

}  // namespace crochet
