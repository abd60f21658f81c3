// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0::internal {

int above_standard_streams(int descriptor) noexcept {
  constexpr int kFirst = STDERR_FILENO + 1;
  if (descriptor < 0 || descriptor >= kFirst) return descriptor;
  const int higher = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirst);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return higher;
}

FileDescriptor::FileDescriptor(int number) : number_(above_standard_streams(number)) {
  if (number >= 0 && number_ < 0) throw_errno(errno, "a file", "fcntl");
}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) ::close(number_);
}

void FileDescriptor::close(const std::string& path) {
  // Linux has released the number even after EINTR: a second attempt might close
  // a file that another thread has just opened.
  if (::close(std::exchange(number_, -1)) != 0 && errno != EINTR) throw_errno(errno, path, "close");
}

}  // namespace crochet::inline v0::internal
