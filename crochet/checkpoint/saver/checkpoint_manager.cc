// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/checkpoint_manager.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/checkpoint_list.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/publisher.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {
namespace {

CheckpointManagerOptions checked(CheckpointManagerOptions options) {
  if (options.directory.empty())
    throw InvalidArgumentError("CheckpointManager: the directory is empty");
  internal::check_at_least("CheckpointManager: max_to_keep", options.max_to_keep, 1);
  const FileSystem& files = FileSystem::or_posix(options.saver.files);
  options.directory = files.fixed_path(options.directory);
  return options;
}

std::vector<RetentionPolicy> policies_of(const CheckpointManagerOptions& options) {
  if (!options.max_to_keep) return {};
  std::vector<RetentionPolicy> policies = {keep_newest(*options.max_to_keep)};
  if (const double hours = options.keep_checkpoint_every_n_hours.value_or(0); hours != 0)
    policies.push_back(keep_every_hours(hours));
  policies.insert(policies.end(), options.retention.begin(), options.retention.end());
  return policies;
}

SaverOptions saver_options_of(const CheckpointManagerOptions& options) {
  SaverOptions saver = options.saver;
  if (!saver.fallback_dir.empty())
    throw InvalidArgumentError(fmt::format(
        "CheckpointManager: found fallback_dir \"{}\", expected none", saver.fallback_dir));
  saver.max_to_keep = options.max_to_keep.value_or(0);
  return saver;
}

internal::CheckpointListOptions list_of(const CheckpointManagerOptions& options) {
  return {.policies = policies_of(options),
          .lists_all = true,
          .latest_filename = options.saver.latest_filename,
          .writes_times = true};
}

}  // namespace

CheckpointManager::CheckpointManager(CheckpointManagerOptions options)
    : options_(checked(std::move(options))),
      saver_(saver_options_of(options_), list_of(options_)),
      path_(join_path(options_.directory, options_.checkpoint_name.str())) {
  FileSystem& files = saver_.files();
  const auto found = list_checkpoints(files, options_.directory, options_.checkpoint_name);
  learn();
  if (found.empty()) return;
  save_counter_ = *internal::step_of_prefix(found.back());
  latest_ = found.back();
  try {
    const auto state =
        load_checkpoint_state(files, options_.directory, options_.saver.latest_filename);
    if (state && std::ranges::find(found, state->model_checkpoint_path) != found.end())
      latest_ = state->model_checkpoint_path;
  } catch (const InvalidArgumentError&) {
    throw;
  } catch (const Error&) {  // learn() has logged that it cannot be read now.
  }
}

void CheckpointManager::learn() {
  internal::CheckpointList& list = (*saver_.publisher_)->list();
  list.set_last_preserved(list.now() - 1, 0);  // As in TensorFlow.
  try {
    const auto directory = internal::CheckpointDirectory::find(saver_.files(), options_.directory);
    if (!directory) return;
    list.follow(directory->path());
    list.learn(*directory, options_.checkpoint_name);
  } catch (const Error& error) {
    log_error(error.what());
  }
}

std::string CheckpointManager::save(Session& session, std::optional<int64_t> checkpoint_number) {
  if (!checkpoint_number && save_counter_ == std::numeric_limits<int64_t>::max())
    throw OutOfRangeError(fmt::format("{}: the number of the newest checkpoint, {}, is the maximum",
                                      options_.directory, save_counter_));
  const std::string prefix =
      saver_.save(session, path_, checkpoint_number ? *checkpoint_number : save_counter_ + 1);
  if (save_counter_ < std::numeric_limits<int64_t>::max()) ++save_counter_;
  if (!prefix.empty()) latest_ = prefix;
  return prefix;
}

}  // namespace crochet::inline v0
