// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/restore_candidates.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/io/path.h"

namespace crochet::inline v0::internal {
namespace {

void add_candidates(FileSystem& files, const std::string& directory,
                    const CheckpointBasename& basename, std::vector<RestoreCandidate>& candidates) {
  auto opened = CheckpointDirectory::find(files, directory);
  if (!opened) return;
  const auto shared = std::make_shared<CheckpointDirectory>(std::move(*opened));
  for (std::string& prefix : list_checkpoints(shared->files(), directory, basename))
    candidates.push_back({shared, std::move(prefix)});
}

}  // namespace

std::vector<RestoreCandidate> find_candidates(FileSystem& files, const std::string& directory,
                                              const std::string& fallback_dir,
                                              const CheckpointBasename& basename) {
  std::vector<RestoreCandidate> found;
  try {
    if (!fallback_dir.empty()) add_candidates(files, fallback_dir, basename, found);
  } catch (const Error& error) {
    log_warning(
        fmt::format("the fallback directory cannot be searched for checkpoints: {}", error.what()));
  }
  add_candidates(files, directory, basename, found);
  // Among equal steps, those in the main directory come last: they are preferred.
  std::ranges::stable_sort(
      found, {}, [](const RestoreCandidate& each) { return step_of_prefix(each.prefix); });
  return found;
}

void check_holds_no_checkpoint(FileSystem& files, const std::string& directory,
                               const CheckpointBasename& basename) {
  if (!files.exists(directory)) return;
  for (const std::string& name : files.list(directory))
    if (const auto file = parse_checkpoint_filename(name);
        file && file->part == CheckpointPart::kIndex)
      throw FailedPreconditionError(fmt::format(
          "{} holds the checkpoint {} but none named {}-<step>: restore it by its name, or "
          "use another directory",
          directory, file->base, basename.str()));
  if (const auto state = get_checkpoint_state(files, directory))
    throw DataLossError(
        fmt::format("{} names the checkpoint {}, which is missing; to start afresh, remove {}",
                    join_path(directory, "checkpoint"), state->model_checkpoint_path,
                    join_path(directory, "checkpoint")));
}

}  // namespace crochet::inline v0::internal
