// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/failing_file_system.h"

#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "crochet/io/writable_state.h"

namespace crochet {

// Counts the operations and knows which of them fail.
class FailingFileSystem::Plan {
 public:
  // Throws if it is this operation's turn to fail.
  void begin(std::string operation) {
    Thrower thrower;
    {
      const std::lock_guard lock(mutex_);
      const auto n = static_cast<int64_t>(operations_.size());
      operations_.push_back(operation);
      if (n < first_failing_ || n > last_failing_) return;
      ++num_failures_;
      thrower = thrower_;
    }
    thrower(operation);
    throw InternalError("{}: was to fail, but its thrower threw nothing", operation);
  }

  void set(int64_t first, int64_t last, Thrower thrower) {
    const std::lock_guard lock(mutex_);
    first_failing_ = first;
    last_failing_ = last;
    thrower_ = std::move(thrower);
  }

  int64_t num_failures() const {
    const std::lock_guard lock(mutex_);
    return num_failures_;
  }

  std::vector<std::string> operations() const {
    const std::lock_guard lock(mutex_);
    return operations_;
  }

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::string> operations_;
  int64_t num_failures_ = 0;
  int64_t first_failing_ = 0;
  int64_t last_failing_ = -1;
  Thrower thrower_;
};

class FailingFileSystem::File final : public WritableFile {
 public:
  File(std::unique_ptr<WritableFile> file, const std::string& path, std::shared_ptr<Plan> plan)
      : file_(std::move(file)), state_(path), plan_(std::move(plan)) {}

  using WritableFile::append;

  void append(std::span<const std::byte> data) override {
    state_.run("append", [&] {
      try {
        plan_->begin(fmt::format("append {} {}", state_.path(), data.size()));
      } catch (...) {
        file_->append(data.first(data.size() / 2));
        throw;
      }
      file_->append(data);
    });
  }

  void sync() override {
    state_.run("sync", [&] {
      plan_->begin(fmt::format("sync {}", state_.path()));
      file_->sync();
    });
  }

  void close() override {
    state_.close();
    plan_->begin(fmt::format("close {}", state_.path()));
    file_->close();
  }

 private:
  std::unique_ptr<WritableFile> file_;
  WritableState state_;
  std::shared_ptr<Plan> plan_;
};

FailingFileSystem::FailingFileSystem(FileSystem& files)
    : files_(files), plan_(std::make_shared<Plan>()) {}

FailingFileSystem::~FailingFileSystem() = default;

void FailingFileSystem::fail_operation(int64_t n, Code code, Failing failing) {
  const auto thrower = [code](const std::string& operation) {
    throw_error(code, fmt::format("{}: failed on demand", operation));
  };
  fail_operation(n, thrower, failing);
}

void FailingFileSystem::fail_operation(int64_t n, Thrower thrower, Failing failing) {
  const int64_t last = failing == Failing::kOnce ? n : std::numeric_limits<int64_t>::max();
  plan_->set(n, last, std::move(thrower));
}

void FailingFileSystem::stop_failing() { plan_->set(0, -1, nullptr); }

int64_t FailingFileSystem::num_operations() const {
  return static_cast<int64_t>(operations().size());
}
int64_t FailingFileSystem::num_failures() const { return plan_->num_failures(); }
std::vector<std::string> FailingFileSystem::operations() const { return plan_->operations(); }

std::unique_ptr<WritableFile> FailingFileSystem::create(const std::string& path) {
  plan_->begin(fmt::format("create {}", path));
  return std::make_unique<File>(files_.create(path), path, plan_);
}

std::unique_ptr<WritableFile> FailingFileSystem::append_to(const std::string& path) {
  plan_->begin(fmt::format("append_to {}", path));
  return std::make_unique<File>(files_.append_to(path), path, plan_);
}

std::unique_ptr<ReadableFile> FailingFileSystem::open(const std::string& path) {
  return files_.open(path);
}

bool FailingFileSystem::exists(const std::string& path) { return files_.exists(path); }
uint64_t FailingFileSystem::file_size(const std::string& path) { return files_.file_size(path); }
double FailingFileSystem::modified_time(const std::string& path) {
  return files_.modified_time(path);
}
std::vector<std::string> FailingFileSystem::list(const std::string& directory) {
  return files_.list(directory);
}

void FailingFileSystem::rename(const std::string& from, const std::string& to) {
  plan_->begin(fmt::format("rename {} -> {}", from, to));
  files_.rename(from, to);
}

void FailingFileSystem::remove(const std::string& path) {
  plan_->begin(fmt::format("remove {}", path));
  files_.remove(path);
}

void FailingFileSystem::truncate(const std::string& path, uint64_t size) {
  plan_->begin(fmt::format("truncate {} {}", path, size));
  files_.truncate(path, size);
}

void FailingFileSystem::create_directories(const std::string& path) {
  plan_->begin(fmt::format("create_directories {}", path));
  files_.create_directories(path);
}

void FailingFileSystem::sync_directory(const std::string& path) {
  plan_->begin(fmt::format("sync_directory {}", path));
  files_.sync_directory(path);
}

std::unique_ptr<FileLock> FailingFileSystem::try_lock(const std::string& path) {
  plan_->begin(fmt::format("lock {}", path));
  return files_.try_lock(path);
}

uint64_t FailingFileSystem::free_bytes(const std::string& path) { return files_.free_bytes(path); }

}  // namespace crochet
