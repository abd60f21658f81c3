// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include "crochet/io/errno_error.h"

namespace crochet {

FileDescriptor::FileDescriptor(const std::string& path, int flags)
    : number_(retry_interrupted(
          [&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode_t{0666}); })) {
  if (number_ < 0) throw_errno(errno, path, "open");
}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) ::close(number_);
}

void FileDescriptor::close(const std::string& path) {
  // Linux has released the number even after EINTR: another try might close
  // what another thread just opened.
  if (::close(std::exchange(number_, -1)) != 0 && errno != EINTR) throw_errno(errno, path, "close");
}

}  // namespace crochet
