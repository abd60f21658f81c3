// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>

#include <string>
#include <utility>

namespace crochet {

// Owns a file descriptor of the operating system.
class FileDescriptor {
 public:
  // Opens with O_CLOEXEC added to `flags`; new files get the mode 0666, less the
  // umask. Throws: the errors of FileSystem.
  FileDescriptor(const std::string& path, int flags);
  // Takes one that is open.
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  // Closes, if close() did not, and drops what that reports.
  ~FileDescriptor();

  int get() const { return number_; }
  // Throws: the errors of FileSystem; closed it is nevertheless.
  void close(const std::string& path);

 private:
  int number_;
};

// Repeats a call of the operating system while a signal interrupts it.
template <typename Call>
auto retry_interrupted(const Call& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace crochet
