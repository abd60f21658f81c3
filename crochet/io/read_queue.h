// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace crochet {

// A queue of concurrent reads, which end in any order.
//
// Not thread-safe.
class ReadQueue {
 public:
  struct Completion {
    size_t slot = 0;
    // The number of bytes, which may be fewer than requested and is 0 at the end of the
    // file, or a negated number of <errno.h>.
    int result = 0;
  };

  // Waits for reads in flight: their memory may be freed afterwards.
  virtual ~ReadQueue() = default;

  // Starts a read from an open file. The completion has the number of the slot. Requires: no other
  // read with this slot is in flight; the memory stays valid until the read ends.
  // Throws: an error if the queue is no longer usable; so does wait().
  virtual void submit(size_t slot, int file, uint64_t offset, std::span<std::byte> to) = 0;
  // Returns once a read has ended. Requires: one is in flight.
  virtual Completion wait() = 0;
};

// A queue for up to `num_slots` concurrent reads with io_uring.
// Throws: an error with the system's message if io_uring is not available.
std::unique_ptr<ReadQueue> make_uring_read_queue(size_t num_slots);

}  // namespace crochet
