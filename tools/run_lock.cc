// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/run_lock.h"

#include "crochet/base/error.h"
#include "crochet/io/internal/directory_lock.h"

namespace crochet::tool {

std::optional<bool> has_run(FileSystem& files, const std::string& directory) {
  if (!files.exists(join_path(directory, ".lock"))) return std::nullopt;
  try {
    return !internal::DirectoryLock::for_a_moment(files, directory,
                                                  files.open_directory(directory));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace crochet::tool
