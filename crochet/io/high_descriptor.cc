// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/high_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace crochet::inline v0 {
namespace {

constexpr int kFirst = STDERR_FILENO + 1;

}  // namespace

int above_standard_streams(int descriptor) noexcept {
  if (descriptor < 0 || descriptor >= kFirst) return descriptor;
  const int higher = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirst);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return higher;
}

}  // namespace crochet::inline v0
