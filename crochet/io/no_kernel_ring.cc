// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A build without liburing: as where the kernel refuses every ring, and large files are written and
// read through the page cache. kernel_ring.cc takes its place in a build with it.
#include <errno.h>

#include "crochet/io/internal/io_ring.h"

namespace crochet::inline v0 {

std::unique_ptr<internal::IoRing> internal::IoRing::make(internal::DirectCalls& calls,
                                                         size_t num_buffers, size_t, int& error) {
  error = -calls.make_ring(static_cast<unsigned>(num_buffers), nullptr);
  return nullptr;
}

int internal::DirectCalls::make_ring(unsigned, io_uring*) { return -ENOSYS; }

int internal::DirectCalls::register_buffer(io_uring*, std::span<std::byte>) { return -ENOSYS; }

int internal::DirectCalls::submit(io_uring*) { return -ENOSYS; }

int internal::DirectCalls::wait(io_uring*, io_uring_cqe**) { return -ENOSYS; }

}  // namespace crochet::inline v0
