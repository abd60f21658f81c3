// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/posix_file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <list>
#include <mutex>
#include <utility>

#include "crochet/base/internal/immortal.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/io/errno_error.h"
#include "crochet/io/open_file.h"

namespace crochet::inline v0 {
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

class PosixFileLock final : public FileLock {
 public:
  PosixFileLock(FilePlace place, FileDescriptor file)
      : place_(std::move(place)), file_(file.release()), entry_(HeldLocks::instance().add(file_)) {}

  ~PosixFileLock() override {
    if (HeldLocks::instance().remove(entry_)) ::close(file_);
  }

  bool is_held() const override {
    struct stat status, own;
    return *entry_ >= 0 && ::fstat(file_, &own) == 0 &&
           ::fstatat(place_.at(), place_.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_dev == own.st_dev && status.st_ino == own.st_ino;
  }

  void write(std::string_view text) override {
    const ssize_t written =
        retry_interrupted([&] { return ::pwrite(file_, text.data(), text.size(), 0); });
    if (written < 0) throw_errno(errno, place_.path, "write");
    if (retry_interrupted([&] { return ::ftruncate(file_, written); }) != 0)
      throw_errno(errno, place_.path, "truncate");
    if (static_cast<size_t>(written) < text.size()) throw_errno(ENOSPC, place_.path, "write");
  }

 private:
  const FilePlace place_;
  const int file_;
  const std::list<int>::iterator entry_;
};

}  // namespace

std::unique_ptr<FileLock> try_posix_lock(const FilePlace& place) {
  FileDescriptor file = open_file(place, OpenFor::kLocking);
  struct flock whole_file = {};
  whole_file.l_type = F_WRLCK;
  whole_file.l_whence = SEEK_SET;
  if (retry_interrupted([&] { return ::fcntl(file.get(), F_OFD_SETLK, &whole_file); }) != 0) {
    if (errno == EAGAIN || errno == EACCES) return nullptr;
    throw_errno(errno, place.path, "lock");
  }
  return std::make_unique<PosixFileLock>(place, std::move(file));
}

}  // namespace crochet::inline v0
