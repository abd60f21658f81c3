// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>

#include <pthread.h>

namespace crochet::inline v0 {

// During its lifetime, no thread can be started in this process: each would need a stack larger
// than any memory, so that the system reports EAGAIN, as at its limit of threads.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t attributes;
    ::pthread_getattr_default_np(&attributes);
    ::pthread_attr_getstacksize(&attributes, &stack_bytes_);
    ::pthread_attr_destroy(&attributes);
    set(size_t{1} << 46);
  }
  ~NoThreads() { set(stack_bytes_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  static void set(size_t stack_bytes) {
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stack_bytes);
    if (::pthread_setattr_default_np(&attributes) != 0) throw std::runtime_error("NoThreads");
    ::pthread_attr_destroy(&attributes);
  }

  size_t stack_bytes_ = 0;
};

}  // namespace crochet::inline v0
