// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "crochet/base/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// Identifies a directory, whatever its name: equal if one directory is opened twice.
struct DirectoryIdentity {
  uint64_t device = 0;
  uint64_t number = 0;

  friend auto operator<=>(const DirectoryIdentity&, const DirectoryIdentity&) = default;
};

// An open directory: a FileSystem of its content. Paths are those of the file system that opened
// it, "runs/x/a" for the name "a" in "runs/x", but they are resolved from the open directory,
// wherever it has been moved meanwhile, and never through a symbolic link.
//
// A path outside it is an InvalidArgumentError. Thread-safe.
class CROCHET_EXPORT Directory : public FileSystem {
 public:
  // The path by which it was opened.
  virtual const std::string& path() const = 0;
  virtual DirectoryIdentity identity() const = 0;
  // Throws: FailedPreconditionError if path() no longer leads to it: it was renamed, removed or
  // replaced by another.
  virtual void check_in_place() = 0;
};

// Throws the error of Directory::check_in_place().
[[noreturn]] CROCHET_EXPORT void throw_not_in_place(const std::string& path);

// A directory that forwards every call to another file system, by path.
class CROCHET_EXPORT ForwardingDirectory : public Directory {
 public:
  // Requires: `files` outlives this.
  ForwardingDirectory(FileSystem& files, std::string path)
      : files_(files), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return files_.create(translated(path));
  }
  std::unique_ptr<WritableFile> create_large(const std::string& path, uint64_t bytes) override {
    return files_.create_large(translated(path), bytes);
  }
  std::unique_ptr<WritableFile> append_to(const std::string& path) override {
    return files_.append_to(translated(path));
  }
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    return files_.open(translated(path));
  }
  std::shared_ptr<Directory> open_directory(const std::string& path) override {
    return files_.open_directory(translated(path));
  }
  bool exists(const std::string& path) override { return files_.exists(translated(path)); }
  uint64_t file_size(const std::string& path) override {
    return files_.file_size(translated(path));
  }
  double modified_time(const std::string& path) override {
    return files_.modified_time(translated(path));
  }
  std::vector<std::string> list(const std::string& path) override {
    return files_.list(translated(path));
  }
  void rename(const std::string& from, const std::string& to) override {
    files_.rename(translated(from), translated(to));
  }
  void link(const std::string& from, const std::string& to) override {
    files_.link(translated(from), translated(to));
  }
  void make_symbolic_link(const std::string& target, const std::string& path) override {
    files_.make_symbolic_link(target, translated(path));
  }
  std::optional<std::string> read_symbolic_link(const std::string& path) override {
    return files_.read_symbolic_link(translated(path));
  }
  void remove(const std::string& path) override { files_.remove(translated(path)); }
  void truncate(const std::string& path, uint64_t size) override {
    files_.truncate(translated(path), size);
  }
  void create_directories(const std::string& path) override {
    files_.create_directories(translated(path));
  }
  void sync_directory(const std::string& path) override { files_.sync_directory(translated(path)); }
  std::unique_ptr<FileLock> try_lock(const std::string& path) override {
    return files_.try_lock(translated(path));
  }
  uint64_t free_bytes(const std::string& path) override {
    return files_.free_bytes(translated(path));
  }

 protected:
  FileSystem& files() const { return files_; }
  // Translates a path of this directory into one of the other file system.
  // Throws: InvalidArgumentError if `path` is not in the directory.
  virtual std::string translated(const std::string& path);

 private:
  FileSystem& files_;  // Not owned; outlives this.
  const std::string path_;
};

}  // namespace crochet::inline v0
