// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/directory_lock.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <limits.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "(unknown)";
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// The line that the holder of the lock wrote; it may be writing it just now.
std::string holder_of(FileSystem& files, const std::string& path) {
  const auto unknown = "the holder did not say who it is";
  try {
    const std::string content = read_file(files, path);
    const std::string line = content.substr(0, content.find('\n'));
    return !line.empty() && is_printable(line) ? line : unknown;
  } catch (const Error&) {
    return unknown;
  }
}

// A full disk must not keep a run from its lock: what frees space comes after.
void write_holder(FileSystem& files, const std::string& path) {
  try {
    // Emptied and written, not replaced: the lock is on this very file.
    const std::unique_ptr<WritableFile> file = files.create(path);
    file->append(fmt::format("pid {} on host {}\n", ::getpid(), host_name()));
    file->close();
  } catch (const Error& error) {
    log_warning("{}: the lock is held, but does not say by whom: {}", path, error.what());
  }
}

}  // namespace

DirectoryLock::DirectoryLock(FileSystem& files, const std::string& directory) {
  files.create_directories(directory);
  const std::string path = join_path(directory, ".lock");
  lock_ = files.try_lock(path);
  if (!lock_)
    throw FailedPreconditionError("{}: another run holds its lock: {}", directory,
                                  holder_of(files, path));
  write_holder(files, path);
}

}  // namespace crochet
