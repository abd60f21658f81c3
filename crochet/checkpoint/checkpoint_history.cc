// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_history.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/checkpoint_filename.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/checkpoint_sidecar.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/io/path.h"

namespace crochet::internal {
namespace {

std::optional<CheckpointState> state_if_sound(FileSystem& files, const std::string& directory,
                                              const std::string& latest_filename) {
  try {
    return get_checkpoint_state(files, directory, latest_filename);
  } catch (const Error& error) {
    log_warning("{}", error.what());
    return std::nullopt;
  }
}

// Checkpoints older than all that are listed stay for ever, as an earlier run decided.
void take_listed(const std::vector<std::string>& on_disk, const CheckpointState& state,
                 FileSystem& files, FoundHistory& history) {
  std::set<std::string> listed;
  for (const std::string& path : state.all_model_checkpoint_paths) listed.insert(base_name(path));
  const auto is_listed = [&](const std::string& prefix) {
    return listed.contains(base_name(prefix));
  };
  const auto newest_listed = std::find_if(on_disk.rbegin(), on_disk.rend(), is_listed).base();
  const bool any_listed = newest_listed != on_disk.begin();
  for (auto prefix = on_disk.begin(); prefix != on_disk.end(); ++prefix) {
    const auto record = find_record(files, *prefix);
    if (!record) continue;
    if (!any_listed || prefix >= newest_listed || is_listed(*prefix)) {
      history.listed.push_back(*record);
    } else {
      history.last_preserved_time = record->time;
      history.last_preserved_step = record->step.value_or(0);
    }
  }
}

}  // namespace

std::vector<std::string> CheckpointHistory::prefixes_without(
    const std::vector<std::string>& left_out) const {
  std::vector<std::string> prefixes;
  for (const CheckpointRecord& record : records_)
    if (std::ranges::find(left_out, record.prefix) == left_out.end())
      prefixes.push_back(record.prefix);
  return prefixes;
}

void CheckpointHistory::add(CheckpointRecord record) {
  remove(record.prefix);
  records_.push_back(std::move(record));
}

void CheckpointHistory::remove(const std::string& prefix) {
  std::erase_if(records_, [&](const CheckpointRecord& record) { return record.prefix == prefix; });
}

void CheckpointHistory::set_last_preserved(double time, int64_t step) {
  last_preserved_time_ = time;
  last_preserved_step_ = step;
}

std::vector<std::string> CheckpointHistory::sweep() {
  if (policies_.empty() || records_.empty()) return {};
  std::vector<std::string> surplus;
  std::vector<CheckpointRecord> left;
  for (size_t i = 0; i + 1 < records_.size(); ++i) {
    const CheckpointRecord& record = records_[i];
    const RetentionContext context{.num_newer = records_.size() - 1 - i,
                                   .last_preserved_time = last_preserved_time_,
                                   .last_preserved_step = last_preserved_step_};
    Retention wish = combine(policies_, record, context);
    const bool time_is_known = std::isfinite(record.time);
    if (wish == Retention::kRemove && !time_is_known) wish = Retention::kPreserve;
    if (wish == Retention::kPreserve) {
      set_last_preserved(time_is_known ? record.time : last_preserved_time_,
                         record.step.value_or(last_preserved_step_));
      continue;
    }
    if (wish == Retention::kRemove) surplus.push_back(record.prefix);
    left.push_back(record);
  }
  left.push_back(records_.back());
  records_ = std::move(left);
  return surplus;
}

std::optional<int64_t> step_of_prefix(std::string_view prefix) {
  const size_t dash = prefix.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  return parse_step(prefix, prefix.substr(0, dash));
}

std::optional<CheckpointRecord> find_record(FileSystem& files, const std::string& prefix) {
  const std::vector<double> times = get_checkpoint_mtimes(files, {&prefix, 1});
  if (times.empty()) return std::nullopt;
  CheckpointRecord record{.prefix = prefix, .time = times[0], .step = step_of_prefix(prefix)};
  if (const auto sidecar = read_sidecar(files, prefix); sidecar && sidecar->unix_time > 0)
    record.time = sidecar->unix_time;
  return record;
}

bool remove_or_warn(FileSystem& files, const std::string& prefix) {
  try {
    remove_checkpoint(files, prefix);
    return true;
  } catch (const Error& error) {
    log_warning("checkpoint {} is not needed any more and cannot be removed: {}", prefix,
                error.what());
    return false;
  }
}

FoundHistory find_history(FileSystem& files, const std::string& directory,
                          const std::string& basename, const std::string& latest_filename) {
  FoundHistory history;
  const std::vector<std::string> on_disk = list_checkpoints(files, directory, basename);
  if (on_disk.empty()) return history;
  const auto state = state_if_sound(files, directory, latest_filename);
  take_listed(on_disk, state.value_or(CheckpointState{}), files, history);
  if (state && state->last_preserved_timestamp)
    history.last_preserved_time = state->last_preserved_timestamp;
  if (!history.last_preserved_time && !history.listed.empty())
    history.last_preserved_time = history.listed.front().time;
  return history;
}

}  // namespace crochet::internal
