// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>

#include <liburing.h>

#include "crochet/io/high_descriptor.h"

namespace crochet {

// Creates a ring that a forked process does not have, with a descriptor of 3 or above. Returns 0 or
// a negative errno.
inline int make_uring(unsigned num_entries, io_uring* ring) noexcept {
  const int result = ::io_uring_queue_init(num_entries, ring, 0);
  if (result < 0) return result;
  ::io_uring_ring_dontfork(ring);
  const int descriptor = above_standard_streams(ring->ring_fd);
  const int error = errno;
  ring->ring_fd = ring->enter_ring_fd = descriptor;
  if (descriptor >= 0) return 0;
  ::io_uring_queue_exit(ring);  // Unmaps; closing an invalid descriptor is harmless.
  return -error;
}

}  // namespace crochet
