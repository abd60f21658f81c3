// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <functional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/file_place.h"

namespace crochet::inline v0 {
namespace {

// A directory of a file system that cannot hold directories open.
class NamedDirectory final : public ForwardingDirectory {
 public:
  NamedDirectory(FileSystem& files, const std::string& path) : ForwardingDirectory(files, path) {
    if (!is_directory(files, path)) internal::throw_errno(ENOENT, path, "open");
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

std::string ForwardingDirectory::translated(const std::string& path) {
  static_cast<void>(internal::name_within(path_, path));
  return path;
}

}  // namespace crochet::inline v0
