// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/posix_file_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <stdio.h>

#include "crochet/io/errno_error.h"
#include "crochet/io/file_descriptor.h"
#include "crochet/io/path.h"
#include "crochet/io/posix_files.h"

namespace crochet {
namespace {

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(FileDescriptor file) : file_(std::move(file)) {}

 private:
  FileDescriptor file_;  // Closing it releases the lock.
};

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

struct stat status_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw_errno(errno, path, "stat");
  return status;
}

void check(int result, const std::string& path, std::string_view operation) {
  if (result != 0) throw_errno(errno, path, operation);
}

class PosixFileSystem final : public FileSystem {
 public:
  explicit PosixFileSystem(const DirectWriterOptions& options = {}) : large_(options) {}

  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_TRUNC);
  }

  std::unique_ptr<WritableFile> create_large(const std::string& path,
                                             uint64_t expected_bytes) override {
    return large_.create(path, expected_bytes);
  }

  std::unique_ptr<WritableFile> append_to(const std::string& path) override {
    return std::make_unique<PosixWritableFile>(path, O_APPEND);
  }

  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    return std::make_unique<PosixReadableFile>(path);
  }

  bool exists(const std::string& path) override {
    struct stat status;
    if (::stat(or_current(path).c_str(), &status) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw_errno(errno, path, "stat");
  }

  uint64_t file_size(const std::string& path) override {
    return static_cast<uint64_t>(status_of(path).st_size);
  }

  double modified_time(const std::string& path) override {
    const struct timespec time = status_of(path).st_mtim;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  std::vector<std::string> list(const std::string& directory) override {
    const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(or_current(directory).c_str()));
    if (!stream) throw_errno(errno, directory, "opendir");
    std::vector<std::string> names;
    errno = 0;
    while (const struct dirent* const entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) throw_errno(errno, directory, "readdir");
    std::ranges::sort(names);
    return names;
  }

  void rename(const std::string& from, const std::string& to) override {
    check(::rename(from.c_str(), to.c_str()), from, fmt::format("rename to {}", to));
  }

  void remove(const std::string& path) override { check(::remove(path.c_str()), path, "remove"); }

  void truncate(const std::string& path, uint64_t size) override {
    check(retry_interrupted([&] { return ::truncate(path.c_str(), static_cast<off_t>(size)); }),
          path, "truncate");
  }

  void create_directories(const std::string& path) override {
    if (path.empty() || is_made(path)) return;
    create_directories(directory_of(path));
    if (!is_made(path)) throw_errno(errno, path, "mkdir");
  }

  void sync_directory(const std::string& path) override {
    const FileDescriptor directory(or_current(path), O_RDONLY | O_DIRECTORY);
    // EINVAL: this file system cannot sync directories, and nothing more can be done.
    if (retry_interrupted([&] { return ::fsync(directory.get()); }) != 0 && errno != EINVAL)
      throw_errno(errno, path, "fsync");
  }

  std::unique_ptr<FileLock> try_lock(const std::string& path) override {
    FileDescriptor file(path, O_RDWR | O_CREAT);
    // A lock of the open file, not of the process: a second holder in this
    // process is refused too, and closing the file elsewhere does not unlock it.
    struct flock whole_file = {};
    whole_file.l_type = F_WRLCK;
    whole_file.l_whence = SEEK_SET;
    if (retry_interrupted([&] { return ::fcntl(file.get(), F_OFD_SETLK, &whole_file); }) == 0)
      return std::make_unique<PosixFileLock>(std::move(file));
    if (errno == EAGAIN || errno == EACCES) return nullptr;
    throw_errno(errno, path, "lock");
  }

  uint64_t free_bytes(const std::string& path) override {
    struct statvfs status;
    check(retry_interrupted([&] { return ::statvfs(or_current(path).c_str(), &status); }), path,
          "statvfs");
    return uint64_t{status.f_bavail} * status.f_frsize;
  }

 private:
  // False if the directory above is missing.
  bool is_made(const std::string& path) {
    if (::mkdir(path.c_str(), mode_t{0777}) == 0) {
      sync_directory(directory_of(without_last_slashes(path)));
      return true;
    }
    if (errno == ENOENT) return false;
    const int error = errno;
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
      throw_errno(error, path, "mkdir");
    return true;
  }

  static std::string_view without_last_slashes(std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return path;
  }

  DirectWriter large_;
};

}  // namespace

FileSystem& FileSystem::posix() {
  // Never destroyed: threads may still be writing at exit.
  static auto* const file_system = new PosixFileSystem;
  return *file_system;
}

std::unique_ptr<FileSystem> make_posix_file_system(const DirectWriterOptions& options) {
  return std::make_unique<PosixFileSystem>(options);
}

}  // namespace crochet
