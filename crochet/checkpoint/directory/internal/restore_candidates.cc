// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/restore_candidates.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/fallback_record.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/directory/internal/listing.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

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

// Returns why the directory, `what`, cannot be searched; "" if it was.
std::string try_to_add(FileSystem& files, const std::string& directory, const std::string& basename,
                       std::vector<RestoreCandidate>& candidates,
                       std::string_view what = "the fallback directory") {
  try {
    add_candidates(files, directory, basename, candidates);
    return "";
  } catch (const Error& error) {
    log_warning(fmt::format("{} cannot be searched for checkpoints: {}", what, error.what()));
    return fmt::format("cannot be searched ({})", error.what());
  }
}

[[noreturn]] void throw_newest_is_in_fallback(FileSystem& files, const std::string& directory,
                                              const FallbackUse& use, const std::string& problem,
                                              const std::vector<RestoreCandidate>& found) {
  std::string reason = problem;
  if (reason.empty())
    reason = is_directory(files, use.directory) ? "has no checkpoint of that step or a later one"
                                                : "is not there";
  throw FailedPreconditionError(
      fmt::format("{}: the checkpoint of step {} was saved in the fallback directory {}, which {}: "
                  "mount it, or "
                  "copy the checkpoint here; or, to continue from {} without it, remove {}",
                  directory, use.step, use.directory, reason,
                  found.empty() ? "the beginning" : found.back().prefix, use.path));
}

}  // namespace

std::vector<RestoreCandidate> find_candidates(FileSystem& files, const std::string& directory,
                                              const std::string& fallback_dir,
                                              const CheckpointBasename& basename) {
  std::vector<RestoreCandidate> found;
  std::string problem;
  const auto use = find_fallback_use(files, join_path(directory, basename.str()));
  if (!fallback_dir.empty()) problem = try_to_add(files, fallback_dir, basename, found);
  if (use && use->directory != fallback_dir)
    problem = try_to_add(files, use->directory, basename, found);
  if (const auto place = find_fast_place(files, join_path(directory, basename.str())))
    try_to_add(files, *place, basename, found, "the fast directory");
  add_candidates(files, directory, basename, found);
  // Among equal steps, those in the main directory come last: they are preferred.
  std::ranges::stable_sort(
      found, {}, [](const RestoreCandidate& each) { return step_of_prefix(each.prefix); });
  if (use && (found.empty() || step_of_prefix(found.back().prefix) < use->step))
    throw_newest_is_in_fallback(files, directory, *use, problem, found);
  return found;
}

bool has_abandoned(FileSystem& files, const std::string& directory, const std::string& basename) {
  return std::ranges::any_of(list_or_none(files, directory), [&](const std::string& name) {
    return name.starts_with(basename + "-") && name.find(".abandoned") != std::string::npos;
  });
}

void check_holds_no_checkpoint(FileSystem& files, const std::string& directory,
                               const CheckpointBasename& basename) {
  if (!files.exists(directory)) return;
  for (const ListedFile& file : list_files(files, directory))
    if (file.is_index())
      throw FailedPreconditionError(fmt::format(
          "{} holds the checkpoint {} but none named {}-<step>: restore it by its name, or "
          "use another directory",
          directory, file.base, basename.str()));
  if (const auto state = get_checkpoint_state(files, directory))
    throw DataLossError(
        fmt::format("{} names the checkpoint {}, which is missing; to start afresh, remove {}",
                    join_path(directory, "checkpoint"), state->model_checkpoint_path,
                    join_path(directory, "checkpoint")));
}

}  // namespace crochet::inline v0::internal
