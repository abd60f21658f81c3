// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/checkpoint_list.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

CheckpointList::CheckpointList(const Clock& clock, CheckpointListOptions options)
    : options_(std::move(options)), clock_(clock), history_(options_.policies) {
  history_.set_last_preserved(clock_.now(), 0);
}

double CheckpointList::now() const {
  const std::lock_guard lock(mutex_);
  return clock_.now();
}

void CheckpointList::follow(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (directory_ == directory) return;
  if (directory_ && learned_) {
    history_.set({});
    history_.set_last_preserved(clock_.now(), 0);
    learned_->clear();
    is_unread_ = false;
  }
  directory_ = directory;
}

bool CheckpointList::learn(const CheckpointDirectory& directory, const std::string& basename) {
  if (!lists_any()) return true;
  const std::string path = join_path(directory.path(), basename);
  {
    const std::lock_guard lock(mutex_);
    if (is_learned(path)) return true;
  }
  FoundHistory found;
  try {
    found = find_history(directory.files(), directory.path(), basename, options_.latest_filename);
  } catch (const Error& error) {
    bool was_unread = false;
    {
      const std::lock_guard lock(mutex_);
      was_unread = std::exchange(is_unread_, true);
    }
    if (!was_unread)
      log_error(
          fmt::format("{}: the list of checkpoints cannot be read now: {}; until it can, "
                      "existing checkpoints are kept, regardless of policies",
                      directory.path(), error.what()));
    return false;
  }
  bool is_time_valid = true;
  {
    const std::lock_guard lock(mutex_);
    if (is_learned(path)) return true;
    learned_->insert(path);
    is_unread_ = false;
    is_time_valid = take_over(found);
  }
  if (!is_time_valid)
    log_warning(fmt::format(
        "{}: the time of the last preserved checkpoint, {:g} s, is invalid; existing checkpoints "
        "are kept forever",
        directory.path(), *found.last_preserved_time));
  return true;
}

bool CheckpointList::take_over(FoundHistory& found) {
  for (const CheckpointRecord& record : found.listed) clock_.catch_up(record.time);
  const double last_preserved = found.last_preserved_time.value_or(0);
  clock_.catch_up(last_preserved);
  // TensorFlow's CheckpointManager never removes those that may have been preserved.
  const bool is_time_valid =
      !options_.writes_times || clock_.plausible(last_preserved) == last_preserved;
  if (!is_time_valid) found.listed.clear();
  const std::vector<std::string> saved = history_.prefixes();  // While the list was unread.
  std::vector<CheckpointRecord> all;
  for (CheckpointRecord record : found.listed) {
    record.time = clock_.plausible(record.time);
    if (std::ranges::find(saved, record.prefix) == saved.end()) all.push_back(std::move(record));
  }
  all.insert(all.end(), history_.records().begin(), history_.records().end());
  history_.set(std::move(all));
  if (found.last_preserved_time)
    history_.set_last_preserved(clock_.plausible(*found.last_preserved_time),
                                found.last_preserved_step);
  return is_time_valid;
}

void CheckpointList::add(const std::string& prefix, double time) {
  const std::lock_guard lock(mutex_);
  newest_ = prefix;
  if (!lists_any()) return;
  ++num_added_;
  if (!asking_.expired()) added_[prefix] = num_added_;
  history_.add({.prefix = prefix, .time = time, .step = step_of_prefix(prefix)});
}

std::vector<std::string> CheckpointList::sweep(FileSystem& files) {
  if (options_.policies.empty()) return {};
  CheckpointHistory history(options_.policies);
  std::shared_ptr<void> asking;
  int64_t num_asked = 0;
  {
    const std::lock_guard lock(mutex_);
    history = history_;
    num_asked = num_added_;
    asking = asking_.lock();
    if (asking == nullptr) {
      added_.clear();
      asking_ = asking = std::make_shared<bool>();
    }
  }
  const std::vector<std::string> asked = history.prefixes();
  std::vector<CheckpointRecord> records = history.records();
  refresh(files, records);
  history.update(records);
  Sweep sweep = history.sweep();
  {
    const std::lock_guard lock(mutex_);
    history_.update(records);
    history_.take_over_sweep(history, asked);
    std::erase_if(sweep.surplus, [&](const std::string& prefix) {
      const auto added = added_.find(prefix);
      return added != added_.end() && added->second > num_asked;
    });
  }
  mark_preserved(files, sweep.preserved);
  return sweep.surplus;
}

void CheckpointList::write_state_without(FileSystem& files, const std::vector<std::string>& surplus,
                                         const std::string& newest) {
  if (!options_.writes_state) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_unread_) return;
  }
  UpdateCheckpointStateOptions state{.latest_filename = options_.latest_filename,
                                     .removing_paths = surplus,
                                     .save_relative_paths = true};
  std::vector<std::string> listed;
  {
    const std::lock_guard lock(mutex_);
    for (const CheckpointRecord& record : history_.records()) {
      if (std::ranges::find(surplus, record.prefix) != surplus.end()) continue;
      listed.push_back(record.prefix);
      if (options_.writes_times) state.all_model_checkpoint_timestamps.push_back(record.time);
    }
    // TensorFlow's savers do not write it, so it is written only if needed.
    if (options_.writes_times || options_.policies.size() > 1)
      state.last_preserved_timestamp = history_.last_preserved_time();
  }
  update_checkpoint_state(files, directory_of(newest), newest, listed, state);
}

void CheckpointList::remove_surplus(CheckpointDirectory& directory,
                                    const std::vector<std::string>& surplus) {
  const std::vector<std::string> removed = directory.remove(surplus);
  const std::lock_guard lock(mutex_);
  for (const std::string& prefix : removed) history_.remove(prefix);
}

void CheckpointList::record_restored(const std::string& restored,
                                     const std::vector<std::string>& damaged) {
  const std::lock_guard lock(mutex_);
  history_.set_verified(restored);
  for (const std::string& prefix : damaged) history_.remove(prefix);
}

std::string CheckpointList::newest_beside(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  return directory_of(newest_) == directory_of(prefix) ? newest_ : prefix;
}

std::vector<std::string> CheckpointList::prefixes() const {
  const std::lock_guard lock(mutex_);
  return history_.prefixes();
}

void CheckpointList::set(std::vector<CheckpointRecord> records) {
  const std::lock_guard lock(mutex_);
  history_.set(std::move(records));
  is_unread_ = false;
  learned_.reset();
}

void CheckpointList::set_last_preserved(double time, int64_t step) {
  const std::lock_guard lock(mutex_);
  history_.set_last_preserved(time, step);
}

}  // namespace crochet::inline v0::internal
