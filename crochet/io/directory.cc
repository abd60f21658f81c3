// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/directory.h"

#include <errno.h>

#include <functional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/errno_error.h"
#include "crochet/io/file_place.h"

namespace crochet::inline v0 {
namespace {

// A directory of a file system that cannot hold directories open.
class NamedDirectory final : public ForwardingDirectory {
 public:
  NamedDirectory(FileSystem& files, const std::string& path) : ForwardingDirectory(files, path) {
    if (!is_directory(files, path)) throw_errno(ENOENT, path, "open");
  }

  DirectoryIdentity identity() const override {
    return {reinterpret_cast<uintptr_t>(&files()), std::hash<std::string>()(path())};
  }
  void check_in_place() override {
    if (!is_directory(files(), path())) throw_not_in_place(path());
  }
};

}  // namespace

std::shared_ptr<Directory> FileSystem::open_directory(const std::string& path) {
  return std::make_shared<NamedDirectory>(*this, path);
}

void throw_not_in_place(const std::string& path) {
  throw FailedPreconditionError(fmt::format(
      "{}: this is no longer the directory that was opened: it was renamed, removed or replaced; "
      "nothing was changed",
      path.empty() ? "." : path));
}

std::unique_ptr<WritableFile> ForwardingDirectory::create(const std::string& path) {
  return files_.create(translated(path));
}
std::unique_ptr<WritableFile> ForwardingDirectory::create_large(const std::string& path,
                                                                uint64_t expected_bytes) {
  return files_.create_large(translated(path), expected_bytes);
}
std::unique_ptr<WritableFile> ForwardingDirectory::append_to(const std::string& path) {
  return files_.append_to(translated(path));
}
std::unique_ptr<ReadableFile> ForwardingDirectory::open(const std::string& path) {
  return files_.open(translated(path));
}
std::shared_ptr<Directory> ForwardingDirectory::open_directory(const std::string& path) {
  return files_.open_directory(translated(path));
}
bool ForwardingDirectory::exists(const std::string& path) {
  return files_.exists(translated(path));
}
uint64_t ForwardingDirectory::file_size(const std::string& path) {
  return files_.file_size(translated(path));
}
double ForwardingDirectory::modified_time(const std::string& path) {
  return files_.modified_time(translated(path));
}
std::vector<std::string> ForwardingDirectory::list(const std::string& path) {
  return files_.list(translated(path));
}
void ForwardingDirectory::rename(const std::string& from, const std::string& to) {
  files_.rename(translated(from), translated(to));
}
void ForwardingDirectory::remove(const std::string& path) { files_.remove(translated(path)); }
void ForwardingDirectory::truncate(const std::string& path, uint64_t size) {
  files_.truncate(translated(path), size);
}
void ForwardingDirectory::create_directories(const std::string& path) {
  files_.create_directories(translated(path));
}
void ForwardingDirectory::sync_directory(const std::string& path) {
  files_.sync_directory(translated(path));
}
std::unique_ptr<FileLock> ForwardingDirectory::try_lock(const std::string& path) {
  return files_.try_lock(translated(path));
}
uint64_t ForwardingDirectory::free_bytes(const std::string& path) {
  return files_.free_bytes(translated(path));
}

std::string ForwardingDirectory::translated(const std::string& path) {
  static_cast<void>(name_within(path_, path));
  return path;
}

}  // namespace crochet::inline v0
