// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/directory_lock.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/internal/process_facts.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/base/log.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// A saver without a run holds the lock while it removes some files: a new run waits for that.
constexpr std::chrono::milliseconds kMoment(100);

constexpr uint64_t kMaxHolderBytes = 4096;

// The line that the holder of the lock wrote, or a process that died as its holder. Empty without
// one; the holder may still be writing it.
std::string holder_of(FileSystem& files, const std::string& path) {
  try {
    const std::string content = read_untrusted_file(files, path, kMaxHolderBytes);
    const std::string line = content.substr(0, content.find('\n'));
    return is_printable(line) ? line : "";
  } catch (const NotFoundError&) {
    return "";
  } catch (const Error& error) {
    log_warning(fmt::format("{}: whose lock it is cannot be read: {}", path, error.what()));
    return "";
  }
}

// A full disk must not prevent locking: space is freed only once the lock is held.
void write_holder(FileLock& lock, const std::string& path) {
  try {
    lock.write(fmt::format("pid {} on host {}\n", ::getpid(), host_name()));
  } catch (const Error& error) {
    log_warning(fmt::format("{}: the lock is held, but its holder cannot be recorded: {}", path,
                            error.what()));
  }
}

// Stands for the lock of a file system without locks.
class NoFileLock final : public FileLock {
 public:
  bool is_held() const override { return owner_.is_here(); }

 private:
  const ProcessOwner owner_;
};

std::unique_ptr<FileLock> lock_or_null(FileSystem& files, const std::string& path,
                                       DirectoryLock::Kind kind) {
  if (kind == DirectoryLock::Kind::kFile) return try_lock_for(files, path, kMoment);
  log_warning(fmt::format("{} is not locked: no other run may use its directory", path));
  return std::make_unique<NoFileLock>();
}

}  // namespace

// State shared by all DirectoryLock objects of one lock.
struct DirectoryLock::Held {
  Held(const FileSystem& in, std::string locked_path, std::shared_ptr<Directory> opened,
       std::unique_ptr<FileLock> file_lock, Kind kind_of_lock = Kind::kFile)
      : files(&in),
        path(std::move(locked_path)),
        directory(std::move(opened)),
        lock(std::move(file_lock)),
        kind(kind_of_lock) {}

  const FileSystem* const files;  // Only compared.
  const std::string path;
  const std::shared_ptr<Directory> directory;
  const std::unique_ptr<FileLock> lock;
  const Kind kind;
  std::atomic<bool> has_run = false;

  // The run ends: a later one must not report that it died.
  void end_run() noexcept {
    try_or_log([this] { return path + "/.lock: that the run has ended cannot be recorded"; },
               [this] {
                 if (lock->is_held()) lock->write("");
               });
    has_run = false;
  }

  void check() const {
    directory->check_in_place();
    if (!lock->is_held())
      throw FailedPreconditionError(fmt::format(
          "{}: its lock is lost: the file .lock was removed or replaced, or this process was "
          "forked from the one that holds the lock; nothing was changed",
          path));
  }
};

// The locks of this process.
class DirectoryLock::AllHeld {
 public:
  // A forked child holds none of its parent's locks.
  static AllHeld& instance() {
    static Immortal<PerProcess<AllHeld>> all;
    return **all;
  }

  std::shared_ptr<Held> find(const FileSystem& files, const std::string& path) {
    return find_if([&](const Held& held) { return held.files == &files && held.path == path; });
  }
  std::shared_ptr<Held> find(const DirectoryIdentity& identity) {
    return find_if([&](const Held& held) { return held.directory->identity() == identity; });
  }

  void add(const std::shared_ptr<Held>& held) {
    const std::lock_guard lock(mutex_);
    std::erase_if(held_, [](const auto& each) { return each.expired(); });
    held_.push_back(held);
  }

 private:
  template <typename Condition>
  std::shared_ptr<Held> find_if(const Condition& is_it) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : held_)
      if (auto held = each.lock(); held && is_it(*held)) return held;
    return nullptr;
  }

  std::mutex mutex_;  // Guards what follows.
  std::vector<std::weak_ptr<Held>> held_;
};

DirectoryLock::DirectoryLock(std::shared_ptr<Held> held, bool is_of_run)
    : held_(std::move(held)), is_of_run_(is_of_run) {}

DirectoryLock::DirectoryLock(FileSystem& files, const std::string& directory, Kind kind) {
  const std::string fixed = files.fixed_path(directory);
  files.create_directories(fixed);
  const std::shared_ptr<Directory> opened = files.open_directory(fixed);
  const std::string path = join_path(fixed, ".lock");
  held_ = AllHeld::instance().find(opened->identity());
  if (held_ && !held_->lock->is_held()) held_.reset();
  if (!held_) {
    if (auto lock = lock_or_null(*opened, path, kind)) {
      held_ = std::make_shared<Held>(files, fixed, opened, std::move(lock), kind);
      AllHeld::instance().add(held_);
    }
  }
  const std::string holder = holder_of(*opened, path);
  if (!held_)
    throw FailedPreconditionError(fmt::format("{}: another run holds its lock: {}", fixed,
                                              holder.empty() ? "unknown holder" : holder));
  if (held_->has_run.exchange(true)) {
    held_.reset();
    throw FailedPreconditionError(fmt::format(
        "{}: this process already holds its lock, for another Loop, run or checkpoint hook: each "
        "needs a directory of its own",
        fixed));
  }
  DirectoryLock own(std::move(held_), true);  // Ends the run if what follows throws.
  if (!holder.empty())
    log_warning(
        fmt::format("{}: the last run here did not end by itself: its process ({}) was killed, "
                    "crashed or exited",
                    fixed, holder));
  write_holder(*own.held_->lock, path);
  *this = std::move(own);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept = default;

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(held_, other.held_);
  std::swap(is_of_run_, other.is_of_run_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (held_ && is_of_run_) held_->end_run();
}

std::optional<DirectoryLock> DirectoryLock::held_here(FileSystem& files, const std::string& path) {
  std::shared_ptr<Held> held = AllHeld::instance().find(files, path);
  if (!held) {
    try {
      held = AllHeld::instance().find(files.open_directory(path)->identity());
    } catch (const NotFoundError&) {
      return std::nullopt;
    }
  }
  if (!held) return std::nullopt;
  return DirectoryLock(std::move(held), false);
}

std::optional<DirectoryLock> DirectoryLock::for_a_moment(FileSystem& files, const std::string& path,
                                                         std::shared_ptr<Directory> directory) {
  if (auto lock = held_here(files, path)) {
    lock->check();
    return lock;
  }
  auto lock = directory->try_lock(join_path(path, ".lock"));
  if (!lock) return std::nullopt;
  auto held = std::make_shared<Held>(files, path, std::move(directory), std::move(lock));
  held->check();
  AllHeld::instance().add(held);
  return DirectoryLock(std::move(held), false);
}

std::shared_ptr<Directory> DirectoryLock::directory(FileSystem& files) const {
  if (held_->files == &files) return held_->directory;
  auto opened = files.open_directory(held_->path);
  if (opened->identity() != held_->directory->identity()) throw_not_in_place(held_->path);
  return opened;
}

DirectoryLock::Kind DirectoryLock::kind() const { return held_->kind; }

void DirectoryLock::check() const { held_->check(); }

}  // namespace crochet::inline v0::internal
