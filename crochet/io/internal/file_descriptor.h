// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>

#include <string>
#include <utility>

namespace crochet::inline v0::internal {

// Owns a file descriptor of the operating system, never one of the three standard ones: in a
// program started without stderr, its output must not end up in one of our files.
class FileDescriptor {
 public:
  // Takes an open descriptor; if it is 0, 1 or 2 it is replaced by a higher one. A negative number
  // owns nothing. Throws: ResourceExhaustedError if there is no higher one; then it is closed.
  explicit FileDescriptor(int number);
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  // Closes, unless close() was called, and ignores errors.
  ~FileDescriptor();

  int get() const { return number_; }
  // Releases ownership.
  int release() { return std::exchange(number_, -1); }
  // Throws: the errors of FileSystem; the descriptor is closed nevertheless.
  void close(const std::string& path);

 private:
  int number_;
};

// Returns a descriptor of the same open file that is 3 or above, marked close-on-exec;
// `descriptor` itself if it is already 3 or above, or negative. In a program started without
// standard streams, files would get 0 to 2, to which other code prints. Closes the lower one; if
// the system has no other, returns -1 with errno set.
int above_standard_streams(int descriptor) noexcept;

// Repeats a call of the operating system while a signal interrupts it.
template <typename Call>
auto retry_interrupted(const Call& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace crochet::inline v0::internal
