// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/run_directories.h"

#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"

namespace crochet::inline v0::internal {

std::shared_ptr<void> lock_directories(const RunDirectories& directories, FileSystem& files,
                                       const SaverOptions& saver) {
  const std::string& own = directories.checkpoint_dir;
  const std::string& second = directories.fallback_dir;
  if (second == own)
    throw InvalidArgumentError(
        fmt::format("\"{}\" is the checkpoint_dir and the fallback_dir", second));
  auto locks = std::make_shared<std::vector<DirectoryLock>>();
  const auto lock = [&](const std::string& directory) {
    locks->emplace_back(files, directory, directories.lock);
    if (saver.write_state) check_replaceable_state(files, directory, saver.latest_filename);
    remove_leftovers(files, directory, directories.basename, saver.latest_filename);
  };
  lock(own);
  if (second.empty()) return locks;
  try {
    lock(second);
  } catch (const FailedPreconditionError&) {
    throw;
  } catch (const Error& error) {
    log_warning(
        fmt::format("the fallback directory for checkpoints cannot be used now: {}", error.what()));
  }
  return locks;
}

}  // namespace crochet::inline v0::internal
