// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/own_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <new>
#include <string>

#include <fmt/format.h>
#include <stdio.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/random.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/file_descriptor.h"

namespace crochet::inline v0::internal {
namespace {

constexpr mode_t kPermissions = 0777;

int open_plain(const FilePlace& place, const std::string& name, int flags) {
  return retry_interrupted([&] {
    return ::openat(place.at(), name.c_str(),
                    flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, mode_t{0600});
  });
}

void copy_mode_and_group(int file, const struct stat& from) {
  struct stat status;
  if (::fstat(file, &status) != 0) return;
  const bool is_group_kept =
      status.st_gid == from.st_gid || ::fchown(file, static_cast<uid_t>(-1), from.st_gid) == 0;
  // What the old group may do is not given to another one.
  const mode_t mode = from.st_mode & (is_group_kept ? kPermissions : kPermissions & ~mode_t{0070});
  if ((status.st_mode & kPermissions) != mode && ::fchmod(file, mode) != 0) errno = 0;
}

int write_all(int file, const std::byte* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = retry_interrupted([&] { return ::write(file, bytes, size); });
    if (written < 0) return errno;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

int copy_content(int from, int to) {
  std::array<std::byte, size_t{64} << 10> buffer;
  while (true) {
    const ssize_t count =
        retry_interrupted([&] { return ::read(from, buffer.data(), buffer.size()); });
    if (count < 0) return errno;
    if (count == 0) return 0;
    if (const int error = write_all(to, buffer.data(), static_cast<size_t>(count)); error != 0)
      return error;
  }
}

// Fills the copy and gives it the name.
int finish_copy(const FilePlace& place, const std::string& temporary, int from, int to,
                CopyOf copy) {
  struct stat status;
  if (::fstat(from, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EISDIR;
  copy_mode_and_group(to, status);
  if (copy == CopyOf::kContent)
    if (const int error = copy_content(from, to); error != 0) return error;
  if (retry_interrupted([&] { return ::fsync(to); }) != 0) return errno;
  return ::renameat(place.at(), temporary.c_str(), place.at(), place.name.c_str()) == 0 ? 0 : errno;
}

}  // namespace

void keep_mode_and_group(const FilePlace& place, const struct stat& replaced) noexcept {
  const int file = open_plain(place, place.name, O_RDONLY);
  if (file < 0) return;
  struct stat status;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1)
    copy_mode_and_group(file, replaced);
  ::close(file);
}

int replace_by_own_copy(const FilePlace& place, CopyOf copy) noexcept {
  try {
    const FileDescriptor from(open_plain(place, place.name, O_RDONLY));
    if (from.get() < 0) return errno;
    const std::string temporary =
        fmt::format("{}.tmp{:016x}{:016x}", place.name, random_number(), random_number());
    const FileDescriptor to(open_plain(place, temporary, O_WRONLY | O_CREAT | O_EXCL));
    if (to.get() < 0) return errno;
    const int error = finish_copy(place, temporary, from.get(), to.get(), copy);
    if (error != 0) ::unlinkat(place.at(), temporary.c_str(), 0);
    return error;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const Error&) {
    return EMFILE;  // Of a descriptor above the standard ones.
  }
}

}  // namespace crochet::inline v0::internal
