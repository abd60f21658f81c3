// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/failing_file_system.h"

#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/writable_state.h"
#include "crochet/testing/internal/failing_calls.h"
#include "crochet/testing/internal/file_protocol.h"

namespace crochet::inline v0 {
namespace {

int64_t last_failing(int64_t n, Failing failing) {
  return failing == Failing::kOnce ? n : std::numeric_limits<int64_t>::max();
}

// "rename a -> b" fails as "a: rename to b failed: ...".
FailingFileSystem::Thrower thrower_of(int error_number) {
  return [error_number](const std::string& operation) {
    const size_t space = operation.find(' ');
    const std::string object = operation.substr(space + 1);
    internal::throw_errno(error_number, object.substr(0, object.find(' ')),
                          operation.substr(0, space));
  };
}

}  // namespace

struct FailingFileSystem::State {
  // Does the work of one operation, or the part that is done when it fails.
  template <typename Work, typename HalfWork>
  void run(const std::string& operation, const Work& work, const HalfWork& half_work) {
    try {
      operations.begin(operation);
    } catch (...) {
      try {
        if (failed_work == FailedWork::kHalf) half_work();
        if (failed_work == FailedWork::kAll) work();
      } catch (const Error&) {  // The error on demand is the one to report.
      }
      throw;
    }
    work();
  }
  template <typename Work>
  void run(const std::string& operation, const Work& work) {
    run(operation, work, [] {});
  }

  internal::FailingCalls operations;
  internal::FailingCalls reads;
  internal::FileProtocol protocol;
  std::atomic<FailedWork> failed_work = FailedWork::kHalf;

  std::mutex mutex;  // Guards what follows.
  std::optional<uint64_t> claimed_free_bytes;
};

class FailingFileSystem::File final : public WritableFile {
 public:
  File(std::unique_ptr<WritableFile> file, const std::string& path,
       internal::FileProtocol::File record, std::shared_ptr<State> shared)
      : file_(std::move(file)),
        state_(path),
        record_(std::move(record)),
        shared_(std::move(shared)) {}

  using WritableFile::append;

  void append(std::span<const std::byte> data) override {
    change("append", [&] {
      shared_->run(
          fmt::format("append {} {}", state_.path(), data.size()),
          [&] {
            file_->append(data);
            shared_->protocol.appended(record_);
          },
          [&] { file_->append(data.first(data.size() / 2)); });
    });
  }

  // Not an operation of its own: it passes on appended bytes.
  void flush() override {
    state_.run("flush", [&] { file_->flush(); });
  }

  void sync() override {
    change("sync", [&] {
      shared_->run(fmt::format("sync {}", state_.path()), [&] {
        file_->sync();
        shared_->protocol.synced(record_);
      });
    });
  }

  void close() override {
    state_.close();
    shared_->run(fmt::format("close {}", state_.path()), [&] { file_->close(); });
  }

 private:
  template <typename Change>
  void change(const char* name, const Change& change) {
    shared_->protocol.begin(record_, name);
    try {
      state_.run(name, change);
    } catch (...) {
      shared_->protocol.failed(record_);
      throw;
    }
  }

  std::unique_ptr<WritableFile> file_;
  internal::WritableState state_;
  internal::FileProtocol::File record_;
  std::shared_ptr<State> shared_;
};

class FailingFileSystem::Stream final : public ReadStream {
 public:
  Stream(std::unique_ptr<ReadStream> stream, std::string path, uint64_t offset,
         std::shared_ptr<State> shared)
      : stream_(std::move(stream)),
        path_(std::move(path)),
        next_(offset),
        shared_(std::move(shared)) {}

  void read(std::span<std::byte> destination) override {
    shared_->reads.begin(fmt::format("read {} {} {}", path_, next_, destination.size()));
    stream_->read(destination);
    next_ += destination.size();
  }
  void skip(uint64_t num_bytes) override {
    stream_->skip(num_bytes);
    next_ += num_bytes;
  }

 private:
  std::unique_ptr<ReadStream> stream_;
  std::string path_;
  uint64_t next_;
  std::shared_ptr<State> shared_;
};

class FailingFileSystem::ReadFile final : public ReadableFile {
 public:
  ReadFile(std::unique_ptr<ReadableFile> file, std::string path, std::shared_ptr<State> shared)
      : file_(std::move(file)), path_(std::move(path)), shared_(std::move(shared)) {}

  uint64_t size() const override { return file_->size(); }
  bool is_own() const override { return file_->is_own(); }
  void read_at(uint64_t offset, std::span<std::byte> destination) const override {
    shared_->reads.begin(fmt::format("read {} {} {}", path_, offset, destination.size()));
    file_->read_at(offset, destination);
  }
  std::unique_ptr<ReadStream> stream(uint64_t offset, uint64_t num_bytes) const override {
    return std::make_unique<Stream>(file_->stream(offset, num_bytes), path_, offset, shared_);
  }

 private:
  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  std::shared_ptr<State> shared_;
};

class FailingFileSystem::Lock final : public FileLock {
 public:
  Lock(std::unique_ptr<FileLock> lock, std::string path, std::shared_ptr<State> state)
      : lock_(std::move(lock)), path_(std::move(path)), state_(std::move(state)) {}

  bool is_held() const override { return lock_->is_held(); }
  void write(std::string_view text) override {
    state_->run(fmt::format("write_lock {}", path_), [&] { lock_->write(text); });
  }

 private:
  const std::unique_ptr<FileLock> lock_;
  const std::string path_;
  const std::shared_ptr<State> state_;
};

class FailingFileSystem::OpenDirectory final : public ForwardingDirectory {
 public:
  OpenDirectory(std::shared_ptr<Directory> directory, const std::shared_ptr<State>& state)
      : ForwardingDirectory(calls_, directory->path()),
        directory_(std::move(directory)),
        calls_(*directory_, state) {}

  DirectoryIdentity identity() const override { return directory_->identity(); }
  void check_in_place() override {
    calls_.state_->reads.begin(fmt::format("check_in_place {}", path()));
    directory_->check_in_place();
  }

 private:
  const std::shared_ptr<Directory> directory_;
  FailingFileSystem calls_;  // Calls of the directory, counted with all others.
};

FailingFileSystem::FailingFileSystem(FileSystem& files)
    : FailingFileSystem(files, std::make_shared<State>()) {}

FailingFileSystem::FailingFileSystem(FileSystem& files, std::shared_ptr<State> state)
    : files_(files), state_(std::move(state)) {}

FailingFileSystem::~FailingFileSystem() = default;

void FailingFileSystem::fail_operation(int64_t n, Code code, Failing failing) {
  const auto thrower = [code](const std::string& operation) {
    throw_error(code, fmt::format("{}: failed on demand", operation));
  };
  fail_operation(n, thrower, failing);
}

void FailingFileSystem::fail_operation(int64_t n, Thrower thrower, Failing failing) {
  state_->operations.set(n, last_failing(n, failing), std::move(thrower));
}

void FailingFileSystem::fail_operation_with_errno(int64_t n, int error_number, Failing failing) {
  fail_operation(n, thrower_of(error_number), failing);
}

void FailingFileSystem::fail_read_with_errno(int64_t n, int error_number, Failing failing) {
  state_->reads.set(n, last_failing(n, failing), thrower_of(error_number));
}

void FailingFileSystem::stop_failing() {
  state_->operations.stop_failing();
  state_->reads.stop_failing();
}

void FailingFileSystem::set_failed_work(FailedWork work) { state_->failed_work = work; }

void FailingFileSystem::spare(const std::string& directory) {
  const auto is_spared = [directory](const std::string& call) {
    const std::string object = call.substr(call.find(' ') + 1);
    const std::string path = object.substr(0, object.find(' '));
    return path == directory || path.starts_with(directory + "/");
  };
  state_->operations.spare(is_spared);
  state_->reads.spare(is_spared);
}

void FailingFileSystem::claim_free_bytes(std::optional<uint64_t> num_bytes) {
  const std::lock_guard lock(state_->mutex);
  state_->claimed_free_bytes = num_bytes;
}

void FailingFileSystem::watch(Watcher watcher) { state_->operations.watch(std::move(watcher)); }

int64_t FailingFileSystem::num_operations() const {
  return static_cast<int64_t>(operations().size());
}
int64_t FailingFileSystem::num_reads() const { return static_cast<int64_t>(reads().size()); }
int64_t FailingFileSystem::num_failures() const { return static_cast<int64_t>(failures().size()); }
std::vector<std::string> FailingFileSystem::operations() const {
  return state_->operations.calls();
}
std::vector<std::string> FailingFileSystem::reads() const { return state_->reads.calls(); }

std::vector<std::string> FailingFileSystem::failures() const {
  std::vector<std::string> all = state_->operations.failures();
  for (std::string& failure : state_->reads.failures()) all.push_back(std::move(failure));
  return all;
}

std::vector<std::string> FailingFileSystem::violations() const {
  return state_->protocol.violations();
}
std::vector<std::string> FailingFileSystem::unsynced_names() const {
  return state_->protocol.unsynced_names();
}

std::unique_ptr<WritableFile> FailingFileSystem::create(const std::string& path) {
  std::unique_ptr<WritableFile> file;
  state_->run(fmt::format("create {}", path), [&] { file = files_.create(path); });
  return std::make_unique<File>(std::move(file), path, state_->protocol.create(path), state_);
}

std::unique_ptr<WritableFile> FailingFileSystem::create_large(const std::string& path,
                                                              uint64_t expected_bytes) {
  std::unique_ptr<WritableFile> file;
  state_->run(fmt::format("create_large {} {}", path, expected_bytes),
              [&] { file = files_.create_large(path, expected_bytes); });
  return std::make_unique<File>(std::move(file), path, state_->protocol.create(path), state_);
}

std::unique_ptr<WritableFile> FailingFileSystem::append_to(const std::string& path) {
  std::unique_ptr<WritableFile> file;
  state_->run(fmt::format("append_to {}", path), [&] { file = files_.append_to(path); });
  return std::make_unique<File>(std::move(file), path, state_->protocol.append_to(path), state_);
}

std::unique_ptr<ReadableFile> FailingFileSystem::open(const std::string& path) {
  state_->reads.begin(fmt::format("open {}", path));
  return std::make_unique<ReadFile>(files_.open(path), path, state_);
}

std::shared_ptr<Directory> FailingFileSystem::open_directory(const std::string& path) {
  state_->reads.begin(fmt::format("open_directory {}", path));
  return std::make_shared<OpenDirectory>(files_.open_directory(path), state_);
}

bool FailingFileSystem::exists(const std::string& path) {
  state_->reads.begin(fmt::format("exists {}", path));
  return files_.exists(path);
}

uint64_t FailingFileSystem::file_size(const std::string& path) {
  state_->reads.begin(fmt::format("file_size {}", path));
  return files_.file_size(path);
}

double FailingFileSystem::modified_time(const std::string& path) {
  state_->reads.begin(fmt::format("modified_time {}", path));
  return files_.modified_time(path);
}

std::vector<std::string> FailingFileSystem::list(const std::string& directory) {
  state_->reads.begin(fmt::format("list {}", directory));
  return files_.list(directory);
}

void FailingFileSystem::rename(const std::string& from, const std::string& to) {
  state_->protocol.begin_rename(from, to);
  state_->run(fmt::format("rename {} -> {}", from, to), [&] {
    files_.rename(from, to);
    state_->protocol.renamed(from, to);
  });
}

void FailingFileSystem::link(const std::string& from, const std::string& to) {
  state_->protocol.begin_link(from, to);
  state_->run(fmt::format("link {} -> {}", from, to), [&] {
    files_.link(from, to);
    state_->protocol.linked(from, to);
  });
}

void FailingFileSystem::clone(const std::string& from, const std::string& to) {
  state_->run(fmt::format("clone {} -> {}", from, to), [&] {
    files_.clone(from, to);
    state_->protocol.create(to);
  });
}

void FailingFileSystem::make_symbolic_link(const std::string& target, const std::string& path) {
  state_->run(fmt::format("make_symbolic_link {} -> {}", path, target), [&] {
    files_.make_symbolic_link(target, path);
    state_->protocol.made_symbolic_link(target, path);
  });
}

std::optional<std::string> FailingFileSystem::read_symbolic_link(const std::string& path) {
  state_->reads.begin(fmt::format("read_symbolic_link {}", path));
  return files_.read_symbolic_link(path);
}

void FailingFileSystem::remove(const std::string& path) {
  state_->run(fmt::format("remove {}", path), [&] {
    files_.remove(path);
    state_->protocol.removed(path);
  });
}

void FailingFileSystem::truncate(const std::string& path, uint64_t size) {
  state_->run(fmt::format("truncate {} {}", path, size), [&] { files_.truncate(path, size); });
}

void FailingFileSystem::sync_file(const std::string& path) {
  state_->run(fmt::format("sync_file {}", path), [&] { files_.sync_file(path); });
}

void FailingFileSystem::create_directories(const std::string& path) {
  state_->run(fmt::format("create_directories {}", path), [&] { files_.create_directories(path); });
}

void FailingFileSystem::sync_directory(const std::string& path) {
  state_->run(fmt::format("sync_directory {}", path), [&] {
    files_.sync_directory(path);
    state_->protocol.directory_synced(path);
  });
}

std::unique_ptr<FileLock> FailingFileSystem::try_lock(const std::string& path) {
  std::unique_ptr<FileLock> lock;
  state_->run(fmt::format("lock {}", path), [&] { lock = files_.try_lock(path); });
  if (!lock) return nullptr;
  return std::make_unique<Lock>(std::move(lock), path, state_);
}

uint64_t FailingFileSystem::free_bytes(const std::string& path) {
  state_->reads.begin(fmt::format("free_bytes {}", path));
  const std::lock_guard lock(state_->mutex);
  return state_->claimed_free_bytes ? *state_->claimed_free_bytes : files_.free_bytes(path);
}

}  // namespace crochet::inline v0
