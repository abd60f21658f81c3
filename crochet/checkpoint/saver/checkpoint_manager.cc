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
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/directory/internal/checkpoint_list.h"
#include "crochet/checkpoint/layout/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/publisher.h"
#include "crochet/io/path.h"

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

bool is_among(const CheckpointRecord& record, const std::vector<std::string>& prefixes) {
  return std::ranges::find(prefixes, record.prefix) != prefixes.end();
}

// Takes the times of the directory's checkpoints from the state; a path in it is a hint: only the
// name counts.
void take_times(const CheckpointState& state, std::vector<CheckpointRecord>& records) {
  const std::vector<std::string>& paths = state.all_model_checkpoint_paths;
  const std::vector<double>& times = state.all_model_checkpoint_timestamps;
  if (times.size() != paths.size()) return;
  std::map<std::string_view, double> time_of;
  for (size_t i = 0; i < paths.size(); ++i) time_of[paths[i]] = times[i];
  for (CheckpointRecord& record : records)
    if (const auto known = time_of.find(record.prefix); known != time_of.end())
      record.time = known->second;
}

}  // namespace

CheckpointManager::CheckpointManager(CheckpointManagerOptions options)
    : options_(checked(std::move(options))),
      saver_(saver_options_of(options_), list_of(options_)),
      list_((*saver_.publisher_)->list()) {
  FileSystem& files = saver_.files();
  const auto on_disk = list_checkpoints(files, options_.directory, options_.checkpoint_name);
  if (!on_disk.empty()) save_counter_ = *internal::step_of_prefix(on_disk.back());
  list_.set({});                                 // The manager sets its content.
  list_.set_last_preserved(list_.now() - 1, 0);  // As in TensorFlow.
  if (!on_disk.empty()) latest_ = on_disk.back();
  try_recover(on_disk);
}

void CheckpointManager::try_recover(const std::vector<std::string>& on_disk) {
  try {
    const auto state =
        load_checkpoint_state(saver_.files(), options_.directory, options_.saver.latest_filename);
    if (state) recover(*state, on_disk);
    is_recovered_ = true;
  } catch (const InvalidArgumentError&) {
    throw;
  } catch (const Error& error) {
    list_.note_unread();
    log_error(fmt::format(
        "{}: the list of checkpoints cannot be read now; until it can, existing checkpoints are "
        "kept, regardless of policies: {}",
        options_.directory, error.what()));
  }
}

void CheckpointManager::recover(const CheckpointState& state,
                                const std::vector<std::string>& on_disk) {
  if (!has_saved_ && std::ranges::find(on_disk, state.model_checkpoint_path) != on_disk.end())
    latest_ = state.model_checkpoint_path;
  const internal::FoundHistory found = internal::find_history(
      saver_.files(), options_.directory, options_.checkpoint_name, options_.saver.latest_filename);
  std::vector<CheckpointRecord> listed = found.listed;
  take_times(state, listed);
  catch_up(state, listed);
  const double now = list_.now();
  double last_preserved = state.last_preserved_timestamp.value_or(0);
  if (!(last_preserved <= now)) {
    log_warning(fmt::format(
        "{}: the time of the last preserved checkpoint, {:g} s, is invalid; existing checkpoints "
        "are "
        "kept forever",
        options_.directory, last_preserved));
    last_preserved = now;
  }
  list_.set_last_preserved(last_preserved, found.last_preserved_step);
  // Checkpoints that may have been preserved are never removed.
  std::erase_if(listed, [&](const CheckpointRecord& record) {
    return !(std::min(record.time, now) > last_preserved) &&
           !is_among(record, state.removing_paths);
  });
  list_.set(std::move(listed));
}

// Moves the clock past all times written by earlier processes.
void CheckpointManager::catch_up(const CheckpointState& state,
                                 const std::vector<CheckpointRecord>& listed) {
  list_.catch_up(state.last_preserved_timestamp.value_or(0));
  for (const CheckpointRecord& record : listed) list_.catch_up(record.time);
}

std::string CheckpointManager::save(Session& session, std::optional<int64_t> checkpoint_number) {
  if (!checkpoint_number && save_counter_ == std::numeric_limits<int64_t>::max())
    throw OutOfRangeError(fmt::format("{}: the number of the newest checkpoint, {}, is the maximum",
                                      options_.directory, save_counter_));
  const int64_t number = checkpoint_number ? *checkpoint_number : save_counter_ + 1;
  const std::string path = join_path(options_.directory, options_.checkpoint_name.str());
  if (!is_recovered_)
    try_recover(
        list_checkpoints(saver_.files(), options_.directory, options_.checkpoint_name.str()));
  const std::string prefix = saver_.save(session, path, number);
  if (save_counter_ < std::numeric_limits<int64_t>::max()) ++save_counter_;
  if (prefix.empty()) return prefix;
  latest_ = prefix;
  has_saved_ = true;
  return prefix;
}

}  // namespace crochet::inline v0
