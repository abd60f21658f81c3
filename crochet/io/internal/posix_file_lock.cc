// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/posix_file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/open_file.h"
#include "crochet/io/internal/own_copy.h"

namespace crochet::inline v0::internal {
namespace {

// The descriptors of all locks of this process, which a forked child closes: the lock of an open
// file is held until the last process that has it open closes it.
class HeldLocks {
 public:
  static HeldLocks& instance() {
    static Immortal<HeldLocks> locks;
    return *locks;
  }

  std::list<int>::iterator add(int file) {
    const std::lock_guard lock(mutex_);
    return files_.insert(files_.end(), file);
  }

  // False in a forked process, which has already closed it.
  bool remove(std::list<int>::iterator file) {
    const std::lock_guard lock(mutex_);
    const bool is_held = *file >= 0;
    files_.erase(file);
    return is_held;
  }

 private:
  friend Immortal<HeldLocks>;

  HeldLocks() { add_fork_actions(fork_actions_); }

  void begin_child() {
    for (int& file : files_)
      if (file >= 0) ::close(std::exchange(file, -1));
    mutex_.unlock();
  }

  ForkActions fork_actions_ = {.before = [] { instance().mutex_.lock(); },
                               .in_parent = [] { instance().mutex_.unlock(); },
                               .in_child = [] { instance().begin_child(); }};
  std::mutex mutex_;  // Guards what follows.
  std::list<int> files_;
};

// The status of the directory that contains a file.
std::optional<struct stat> status_of_directory(const FilePlace& place) {
  struct stat status;
  const bool is_known = place.directory
                            ? ::fstat(place.directory->get(), &status) == 0
                            : ::stat(parent_directory(place.path).c_str(), &status) == 0;
  return is_known ? std::optional(status) : std::nullopt;
}

// Opens a lock file to those who may write its directory, and to nobody else: a user who may read
// it could hold a lock that excludes us.
void fit_to_directory(int file, const FilePlace& place) {
  struct stat own;
  const auto directory = status_of_directory(place);
  if (!directory || ::fstat(file, &own) != 0) return;
  const bool is_root = ::geteuid() == 0;
  if (own.st_uid != ::geteuid() && !is_root) return;
  const auto is_chowned = [&](uid_t user) { return ::fchown(file, user, directory->st_gid) == 0; };
  const bool is_of_group = own.st_gid == directory->st_gid || is_chowned(static_cast<uid_t>(-1));
  if (is_root && own.st_uid != directory->st_uid && !is_chowned(directory->st_uid)) errno = 0;
  mode_t mode = 0600;
  if (is_of_group && (directory->st_mode & S_IWGRP) != 0) mode |= 0060;
  if ((directory->st_mode & S_IWOTH) != 0) mode |= 0006;
  if ((own.st_mode & 0777) != mode && ::fchmod(file, mode) != 0) errno = 0;  // Best effort.
}

// The last line of a held lock file: the directory in which it is locked.
std::string line_of(const struct stat& directory) {
  return fmt::format("directory {}\n", directory.st_ino);
}

// True for a locked file that also has names in other directories (a backup by hard links), in one
// of which it is locked.
bool is_locked_elsewhere(int file, const FilePlace& place) {
  struct stat status;
  if (::fstat(file, &status) != 0 || status.st_nlink < 2) return false;
  std::array<char, 4096> content;
  const ssize_t size = ::pread(file, content.data(), content.size(), 0);
  const auto directory = status_of_directory(place);
  if (size <= 0 || !directory) return false;
  const std::string_view text(content.data(), static_cast<size_t>(size));
  return text.find("\ndirectory ") != std::string_view::npos &&
         !text.ends_with(line_of(*directory));
}

bool has_several_names(int file) {
  struct stat status;
  return ::fstat(file, &status) == 0 && status.st_nlink > 1;
}

class PosixFileLock final : public FileLock {
 public:
  PosixFileLock(FilePlace place, FileDescriptor file)
      : place_(std::move(place)),
        entry_(HeldLocks::instance().add(file.get())),
        file_(file.release()) {}

  ~PosixFileLock() override {
    if (HeldLocks::instance().remove(entry_)) ::close(file_);
  }

  bool is_held() const override {
    struct stat status, own;
    return *entry_ >= 0 && ::fstat(file_, &own) == 0 &&
           ::fstatat(place_.at(), place_.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_dev == own.st_dev && status.st_ino == own.st_ino;
  }

  void write(std::string_view description) override {
    std::string text(description);
    if (!text.ends_with('\n')) text += '\n';
    if (const auto directory = status_of_directory(place_)) text += line_of(*directory);
    const ssize_t written =
        retry_interrupted([&] { return ::pwrite(file_, text.data(), text.size(), 0); });
    if (written < 0) throw_errno(errno, place_.path, "write");
    if (retry_interrupted([&] { return ::ftruncate(file_, written); }) != 0)
      throw_errno(errno, place_.path, "truncate");
    if (static_cast<size_t>(written) < text.size()) throw_errno(ENOSPC, place_.path, "write");
  }

 private:
  const FilePlace place_;
  const std::list<int>::iterator entry_;
  const int file_;
};

// False if another holder has it.
bool lock_whole(int file, const FilePlace& place) {
  struct flock whole_file = {};
  whole_file.l_type = F_WRLCK;
  whole_file.l_whence = SEEK_SET;
  if (retry_interrupted([&] { return ::fcntl(file, F_OFD_SETLK, &whole_file); }) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  if (errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP || errno == EINVAL)
    throw UnimplementedError(fmt::format(
        "{}: lock failed: {}: this file system has no locks, so a second run in the directory "
        "would "
        "not be noticed; if there is none, start with lock_directory = false (crochet: --no-lock)",
        place.path, errno_text(errno)));
  throw_errno(errno, place.path, "lock");
}

}  // namespace

// A file with several names is replaced by one of this directory first. What is locked then is
// looked at again: another process may have replaced it between its opening and its locking.
std::unique_ptr<FileLock> try_posix_lock(const FilePlace& place) {
  constexpr int kMaxAttempts = 10;
  for (int i = 0; i < kMaxAttempts; ++i) {
    FileDescriptor file = open_file(place, OpenFor::kLocking);
    const bool is_locked = lock_whole(file.get(), place);
    if (!is_locked && !is_locked_elsewhere(file.get(), place)) return nullptr;
    if (has_several_names(file.get())) {
      if (const int error = replace_by_own_copy(place, CopyOf::kNothing); error != 0)
        throw_errno(error, place.path, "copy");
      continue;
    }
    fit_to_directory(file.get(), place);
    auto lock = std::make_unique<PosixFileLock>(place, std::move(file));
    if (lock->is_held()) return lock;
  }
  return nullptr;
}

}  // namespace crochet::inline v0::internal
