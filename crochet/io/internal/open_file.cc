// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <limits.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/own_copy.h"

namespace crochet::inline v0::internal {
namespace {

int flags_of(OpenFor purpose) {
  if (purpose == OpenFor::kReading) return O_RDONLY;
  if (purpose == OpenFor::kCutting) return O_WRONLY;
  if (purpose == OpenFor::kLocking) return O_RDWR | O_CREAT;
  return O_WRONLY | O_CREAT | (purpose == OpenFor::kAppending ? O_APPEND : 0);
}

mode_t mode_of(OpenFor purpose) { return purpose == OpenFor::kLocking ? 0600 : 0666; }

// Links are followed only for reading, unless `flags` forbid it.
bool follows_links(OpenFor purpose) { return purpose == OpenFor::kReading; }

// In a program started with closed standard descriptors, occupies them with descriptors that can
// neither be read nor written, as if they were closed, so that none of our files ever has their
// numbers. They are not inherited.
void occupy_standard_descriptors() noexcept {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number)
    if (::fcntl(number, F_GETFD) < 0 && errno == EBADF)
      if (const int placed = ::open("/", O_PATH | O_CLOEXEC); placed > STDERR_FILENO)
        ::close(placed);
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISLNK(mode)) return "a symbolic link (files are not changed through links)";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// An error of try_open_file(): the file is not a plain file.
constexpr int kNotPlain = EISDIR;

// The errors of try_open_file() and the system for links, directories, pipes and devices.
bool is_refusal_of_kind(int error) {
  return error == kNotPlain || error == ELOOP || error == ENXIO || error == ENODEV;
}

int open_at(const FilePlace& place, int flags, mode_t mode) noexcept {
  occupy_standard_descriptors();
  return retry_interrupted(
      [&] { return ::openat(place.at(), place.name.c_str(), flags | O_CLOEXEC | O_NOCTTY, mode); });
}

int open_plain_file(const FilePlace& place, OpenFor purpose, int flags) noexcept {
  // Without O_NONBLOCK, opening a pipe waits for its other end. Plain files ignore the flag.
  return open_at(place,
                 flags_of(purpose) | flags | O_NONBLOCK | (follows_links(purpose) ? 0 : O_NOFOLLOW),
                 mode_of(purpose));
}

// Truncates only after the checks; O_TRUNC would truncate before them.
int empty_if_replacing(int file, OpenFor purpose, off_t size) {
  if (purpose != OpenFor::kReplacing || size == 0) return 0;
  return retry_interrupted([&] { return ::ftruncate(file, 0); });
}

// Throws the error of a failed open: a link that leads nowhere is not a missing file, since its
// disk may not be mounted.
[[noreturn]] void throw_unless_dangling(const FilePlace& place, int error) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlinkat(place.at(), place.name.c_str(), target.data(), target.size());
  struct stat status;
  if (size > 0 && ::fstatat(place.at(), place.name.c_str(), &status, 0) != 0)
    throw FailedPreconditionError(
        fmt::format("{}: is a symbolic link to {}, where nothing is: is its disk mounted?",
                    place.path, std::string_view(target.data(), static_cast<size_t>(size))));
  throw_errno(error, place.path, "open");
}

// The open directory itself has an empty name.
FileDescriptor open_or_throw(FilePlace place, int flags) {
  if (place.name.empty()) place.name.assign(1, '.');
  FileDescriptor opened(open_at(place, flags | (place.directory ? O_NOFOLLOW : 0), 0));
  if (opened.get() < 0) throw_unless_dangling(place, errno);
  return opened;
}

// Throws the error of try_open_file(), after another look at the file for the message.
[[noreturn]] void throw_refusal(const FilePlace& place, OpenFor purpose, int flags, int error) {
  const bool follows = follows_links(purpose) && (flags & O_NOFOLLOW) == 0;
  struct stat status;
  const bool is_there =
      ::fstatat(place.at(), place.name.c_str(), &status, follows ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && is_refusal_of_kind(error) && !S_ISREG(status.st_mode))
    throw FailedPreconditionError(
        fmt::format("{}: found {}, expected a plain file", place.path, kind_of(status.st_mode)));
  if (is_there && error == EACCES && purpose != OpenFor::kReading)
    throw PermissionDeniedError(
        fmt::format("{}: open failed: {}: it belongs to user {} with mode {:o}; if no run uses it, "
                    "remove it, or "
                    "let its owner open it to this user",
                    place.path, errno_text(error), status.st_uid, status.st_mode & 0777));
  throw_unless_dangling(place, error);
}

// Refuses what is not a plain file, or one with several names that would be changed, and empties
// one that is to be replaced. Returns an errno, or 0.
int prepare(int file, OpenFor purpose) noexcept {
  struct stat status;
  if (::fstat(file, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return kNotPlain;
  const bool is_changed = purpose != OpenFor::kReading && purpose != OpenFor::kLocking;
  if (is_changed && status.st_nlink > 1) return EMLINK;
  return empty_if_replacing(file, purpose, status.st_size) != 0 ? errno : 0;
}

int open_once(const FilePlace& place, OpenFor purpose, int flags) noexcept {
  const int file = open_plain_file(place, purpose, flags);
  if (file < 0) return -errno;
  if (const int error = prepare(file, purpose); error != 0) {
    ::close(file);
    return -error;
  }
  return file;
}

// One attempt of try_open_file(), of the file that has the name now: see look_again().
int open_prepared(const FilePlace& place, OpenFor purpose, int flags) noexcept {
  int file = open_once(place, purpose, flags);
  if (purpose != OpenFor::kReading) return file;
  if (file == -ENOENT) {
    look_again(place);
    file = open_once(place, purpose, flags);
  }
  // Over NFS another machine may replace the file, again and again, while it is opened.
  constexpr int kMaxReplacements = 10;
  for (int i = 0; i < kMaxReplacements && file == -ESTALE; ++i)
    file = open_once(place, purpose, flags);
  return file;
}

}  // namespace

int try_open_file(const FilePlace& place, OpenFor purpose, int flags) noexcept {
  const int file = open_prepared(place, purpose, flags);
  const bool is_changed = purpose != OpenFor::kReading && purpose != OpenFor::kLocking;
  if (!is_changed || (file != -EMLINK && file != -EACCES)) return file;
  const auto copied = purpose == OpenFor::kReplacing ? CopyOf::kNothing : CopyOf::kContent;
  if (const int error = replace_by_own_copy(place, copied); error != 0) return file;
  return open_prepared(place, purpose, flags);
}

FileDescriptor open_file(const FilePlace& place, OpenFor purpose, int flags) {
  const int file = try_open_file(place, purpose, flags);
  if (file < 0) throw_refusal(place, purpose, flags, -file);
  return FileDescriptor(file);
}

void look_again(int at, const char* directory) noexcept {
  struct statx status;
  const int flags = AT_STATX_FORCE_SYNC | (*directory == '\0' ? AT_EMPTY_PATH : 0);
  static_cast<void>(::statx(at, directory, flags, STATX_MTIME | STATX_CTIME, &status));
}

void look_again(const FilePlace& place) noexcept {
  if (place.directory) return look_again(place.at(), "");
  const size_t slash = place.name.rfind('/');
  if (slash == std::string::npos) return look_again(AT_FDCWD, ".");
  std::array<char, PATH_MAX> directory;
  if (slash >= directory.size()) return;
  *std::copy_n(place.name.begin(), std::max<size_t>(slash, 1), directory.begin()) = '\0';
  look_again(AT_FDCWD, directory.data());
}

FileDescriptor open_again(int descriptor, int flags) {
  const std::string path = fmt::format("/proc/self/fd/{}", descriptor);
  FileDescriptor file(open_at({.path = path, .name = path}, flags, 0));
  if (file.get() < 0) throw_errno(errno, path, "open");
  return file;
}

FileDescriptor open_directory(const FilePlace& place) {
  return open_or_throw(place, O_RDONLY | O_DIRECTORY);
}

FileDescriptor open_to_look(const FilePlace& place) { return open_or_throw(place, O_PATH); }

}  // namespace crochet::inline v0::internal
