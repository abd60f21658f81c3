// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/scratch_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/errno_error.h"

namespace crochet::tool {
namespace {

std::string new_temporary() {
  std::string path = std::filesystem::temp_directory_path() / "crochet-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) internal::throw_errno(errno, path, "mkdtemp");
  return path;
}

std::string empty_directory(const std::string& path) {
  FileSystem::posix().create_directories(path);
  if (!std::filesystem::is_empty(path))
    throw AlreadyExistsError(fmt::format("{}: expected an empty directory: it is not empty", path));
  return path;
}

}  // namespace

ScratchDirectory::ScratchDirectory(const std::string& path)
    : path_(std::filesystem::canonical(path.empty() ? new_temporary() : empty_directory(path))) {}

// Links in it are removed, not followed.
ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!is_kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace crochet::tool
