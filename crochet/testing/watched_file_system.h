// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::inline v0 {

// Blocks threads until it is opened.
//
// Thread-safe.
class CROCHET_EXPORT Gate {
 public:
  // Returns once it is open.
  void pass() {
    std::unique_lock lock(mutex_);
    ++num_waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --num_waiting_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Returns once `num_threads` threads are blocked.
  void wait_for_waiting(int num_threads = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_waiting_ >= num_threads; });
  }

 private:
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  bool open_ = false;
  int num_waiting_ = 0;
};

// Files in memory, for tests that need a callback before each file is created, which may block the
// caller, move its clock, or throw; a test can also set the free bytes.
//
//   WatchedFileSystem files;
//   Gate gate;
//   files.on_create([&](const std::string& path) {
//     if (path.find(".data-") != std::string::npos) gate.pass();
//   });
class CROCHET_EXPORT WatchedFileSystem final : public MemoryFileSystem {
 public:
  using Watcher = std::function<void(const std::string& path)>;
  using FreeBytes = std::function<uint64_t()>;

  using MemoryFileSystem::MemoryFileSystem;

  void on_create(Watcher watcher) {
    const std::lock_guard lock(mutex_);
    watcher_ = std::move(watcher);
  }
  // Empty: the real number.
  void say_free(FreeBytes free_bytes) {
    const std::lock_guard lock(mutex_);
    free_bytes_ = std::move(free_bytes);
  }

  std::unique_ptr<WritableFile> create(const std::string& path) override {
    if (const Watcher watcher = copy_of(watcher_)) watcher(path);
    return MemoryFileSystem::create(path);
  }
  std::unique_ptr<WritableFile> create_large(const std::string& path,
                                             uint64_t expected_bytes) override {
    if (const Watcher watcher = copy_of(watcher_)) watcher(path);
    return MemoryFileSystem::create_large(path, expected_bytes);
  }
  uint64_t free_bytes(const std::string& path) override {
    const FreeBytes said = copy_of(free_bytes_);
    return said ? said() : MemoryFileSystem::free_bytes(path);
  }

 private:
  template <typename Function>
  Function copy_of(const Function& function) {
    const std::lock_guard lock(mutex_);
    return function;
  }

  std::mutex mutex_;  // Guards what follows.
  Watcher watcher_;
  FreeBytes free_bytes_;
};

}  // namespace crochet::inline v0
