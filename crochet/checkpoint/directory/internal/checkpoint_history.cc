// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

std::optional<CheckpointState> state_if_sound(FileSystem& files, const std::string& directory,
                                              const std::string& latest_filename) {
  try {
    return load_checkpoint_state(files, directory, latest_filename);
  } catch (const InvalidArgumentError& error) {
    log_warning(error.what());
    return std::nullopt;
  }
}

struct OnDisk {
  CheckpointRecord record;
  bool is_known = true;  // False if its sidecar cannot be read.
};

// Takes everything except the time from the sidecar, if there is one.
void take(FileSystem& files, const CheckpointSidecar* sidecar, CheckpointRecord& record) {
  record.metrics = sidecar ? sidecar->metrics : std::map<std::string, double>();
  record.pinned = sidecar != nullptr && sidecar->pinned;
  record.preserved = sidecar != nullptr && sidecar->preserved;
  const uint32_t crc = sidecar ? sidecar->index_crc32c : 0;
  record.published = crc != 0 && crc == index_crc32c_of(files, record.prefix);
}

void refresh_one(FileSystem& files, CheckpointRecord& record) {
  try {
    // A list without times was set by the user: it may name checkpoints that do not exist.
    record.gone = std::isfinite(record.time) && !find_index(files, record.prefix);
    if (record.gone) return;
    const auto sidecar = load_sidecar(files, record.prefix);
    take(files, sidecar ? &*sidecar : nullptr, record);
  } catch (const DataLossError& error) {
    if (record.published) log_warning(error.what());
    take(files, nullptr, record);
  } catch (const NotFoundError&) {  // The index has just been removed.
    record.gone = true;
  } catch (const Error& error) {
    log_warning(
        fmt::format("the sidecar of {} cannot be read now: {}", record.prefix, error.what()));
    record.pinned = true;
  }
}

// Does not read the index: the writer of the checkpoint is determined later.
std::optional<OnDisk> find_on_disk(FileSystem& files, const std::string& prefix) {
  const auto time_of_index = time_of_checkpoint(files, prefix);
  if (!time_of_index) return std::nullopt;
  OnDisk found{
      .record = {.prefix = prefix, .time = *time_of_index, .step = step_of_prefix(prefix)}};
  try {
    const auto sidecar = load_if_sound(files, prefix);
    if (!sidecar) return found;
    found.record.preserved = sidecar->preserved;
    for (const double time : {sidecar->unix_time, sidecar->retention_time})
      if (time > 0) found.record.time = time;
  } catch (const Error& error) {
    log_warning(fmt::format("the sidecar of {} cannot be read now: {}", prefix, error.what()));
    found.is_known = false;
  }
  return found;
}

// Takes the times of the directory's checkpoints from the state, where TensorFlow has them alone; a
// path in it is a hint: only the name counts.
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

// The positions of a directory's checkpoints in its state file.
class Listing {
 public:
  explicit Listing(const CheckpointState& state) {
    for (const std::string& path : state.removing_paths) places_[base_name(path)] = kRemoving;
    int place = 0;
    for (const std::string& path : state.all_model_checkpoint_paths)
      places_[base_name(path)] = ++place;
  }

  // Unset if it is not named. Checkpoints being removed come first.
  std::optional<int> place_of(const OnDisk& checkpoint) const {
    const auto found = places_.find(base_name(checkpoint.record.prefix));
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

  static constexpr int kRemoving = 0;
  static constexpr int kBehindAll = std::numeric_limits<int>::max();

 private:
  std::map<std::string, int> places_;
};

// Divides the checkpoints on disk, by step, into listed ones and ones kept forever. An older one
// that is not listed was preserved by a policy, or by a saver that kept all.
void divide(FileSystem& files, std::vector<OnDisk> on_disk, const Listing& listing,
            FoundHistory& history) {
  const OnDisk* newest = nullptr;  // By step, among those listed in the state.
  double newest_time = 0;
  for (const OnDisk& checkpoint : on_disk)
    if (listing.place_of(checkpoint).value_or(Listing::kRemoving) != Listing::kRemoving) {
      newest = &checkpoint;
      newest_time = std::max(newest_time, checkpoint.record.time);
    }
  // True if it is newer than the state: the save was killed before it updated the state.
  const auto is_newer = [&](OnDisk& checkpoint) {
    if (newest == nullptr || checkpoint.record.step > newest->record.step) return true;
    // Not the time of its file, which may be a copy.
    if (!checkpoint.is_known || !(checkpoint.record.time > newest_time)) return false;
    refresh_one(files, checkpoint.record);
    return checkpoint.record.published;
  };
  std::vector<std::pair<int, CheckpointRecord>> listed;
  for (OnDisk& checkpoint : on_disk) {
    auto place = listing.place_of(checkpoint);
    const bool is_preserved = checkpoint.record.preserved;
    if (!place && !is_preserved && is_newer(checkpoint)) place = Listing::kBehindAll;
    if (place && !is_preserved) {
      listed.emplace_back(*place, checkpoint.record);
    } else {
      history.last_preserved_time = checkpoint.record.time;
      history.last_preserved_step = checkpoint.record.step.value_or(0);
    }
  }
  std::ranges::stable_sort(listed, {}, [](const auto& entry) { return entry.first; });
  for (auto& [place, record] : listed) history.listed.push_back(std::move(record));
  for (CheckpointRecord& record : history.listed) refresh_one(files, record);
}

}  // namespace

std::vector<std::string> CheckpointHistory::prefixes() const {
  std::vector<std::string> prefixes;
  for (const CheckpointRecord& record : records_) prefixes.push_back(record.prefix);
  return prefixes;
}

void CheckpointHistory::add(CheckpointRecord record) {
  remove(record.prefix);
  records_.push_back(std::move(record));
}

void CheckpointHistory::remove(const std::string& prefix) {
  std::erase_if(records_, [&](const CheckpointRecord& record) { return record.prefix == prefix; });
}

void CheckpointHistory::update(const std::vector<CheckpointRecord>& records) {
  for (const CheckpointRecord& known : records)
    for (CheckpointRecord& record : records_)
      if (record.prefix == known.prefix) record = known;
}

void CheckpointHistory::take_over_sweep(const CheckpointHistory& copy,
                                        const std::vector<std::string>& listed) {
  const std::vector<std::string> left = copy.prefixes();
  for (const std::string& prefix : listed)
    if (std::ranges::find(left, prefix) == left.end()) remove(prefix);
  set_last_preserved(copy.last_preserved_time_, copy.last_preserved_step_);
}

void CheckpointHistory::set_verified(const std::string& prefix) {
  for (CheckpointRecord& record : records_)
    if (record.prefix == prefix) record.verified = true;
}

void CheckpointHistory::set_last_preserved(double time, int64_t step) {
  last_preserved_time_ = time;
  last_preserved_step_ = step;
}

Retention CheckpointHistory::verdict_on(const CheckpointRecord& record, size_t num_newer) const {
  if (record.gone) return Retention::kRemove;  // Removes the rest of it.
  if (record.preserved) return Retention::kPreserve;
  const Retention verdict = combine(policies_, record,
                                    {.num_newer = num_newer,
                                     .last_preserved_time = last_preserved_time_,
                                     .last_preserved_step = last_preserved_step_,
                                     .listed = records_});
  if (verdict != Retention::kRemove) return verdict;
  if (record.pinned) return Retention::kHold;
  return std::isfinite(record.time) ? Retention::kRemove : Retention::kPreserve;
}

template <typename Decide>
void CheckpointHistory::ask(Decide decide) {
  const auto is_sound = [](const CheckpointRecord& record) { return record.is_sound(); };
  auto num_newer = static_cast<size_t>(std::ranges::count_if(records_, is_sound));
  std::vector<CheckpointRecord> left;
  for (const CheckpointRecord& record : records_) {
    const bool is_last_sound = record.is_sound() && --num_newer == 0;
    const bool may_go = &record != &records_.back() && !is_last_sound;
    if (!may_go || decide(record, verdict_on(record, num_newer))) left.push_back(record);
  }
  records_ = std::move(left);
}

Sweep CheckpointHistory::sweep() {
  Sweep result;
  if (policies_.empty()) return result;
  ask([&](const CheckpointRecord& record, Retention verdict) {
    if (verdict != Retention::kPreserve) return true;
    if (record.preserved) return false;  // By an earlier process.
    set_last_preserved(std::isfinite(record.time) ? record.time : last_preserved_time_,
                       record.step.value_or(last_preserved_step_));
    if (record.published) result.preserved.push_back(record.prefix);
    return false;
  });
  ask([&](const CheckpointRecord& record, Retention verdict) {
    if (verdict != Retention::kRemove) return true;
    if (record.published || record.gone) {
      result.surplus.push_back(record.prefix);
      return true;
    }
    log_info(fmt::format("checkpoint {} is kept: it has no sidecar, so its writer is unknown",
                         record.prefix));
    return false;
  });
  return result;
}

std::optional<CheckpointRecord> find_record(FileSystem& files, const std::string& prefix) {
  std::optional<OnDisk> found = find_on_disk(files, prefix);
  if (!found) return std::nullopt;
  refresh_one(files, found->record);
  return found->record;
}

void refresh(FileSystem& files, std::vector<CheckpointRecord>& records) {
  for (CheckpointRecord& record : records) refresh_one(files, record);
}

void mark_preserved(FileSystem& files, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    try {
      update_sidecar(files, prefix, [](CheckpointSidecar& sidecar) { sidecar.preserved = true; });
    } catch (const Error& error) {
      log_warning(
          fmt::format("checkpoint {}: cannot record in its sidecar that it is preserved: {}",
                      prefix, error.what()));
    }
  }
}

FoundHistory find_history(FileSystem& files, const std::string& directory,
                          const std::string& basename, const std::string& latest_filename) {
  FoundHistory history;
  std::vector<OnDisk> on_disk;
  for (const std::string& prefix : list_checkpoints(files, directory, basename))
    if (auto found = find_on_disk(files, prefix)) on_disk.push_back(std::move(*found));
  if (on_disk.empty()) return history;
  const auto state = state_if_sound(files, directory, latest_filename);
  double marked_time = 0;
  for (const OnDisk& checkpoint : on_disk)
    if (checkpoint.record.preserved) marked_time = std::max(marked_time, checkpoint.record.time);
  divide(files, std::move(on_disk), Listing(state.value_or(CheckpointState{})), history);
  if (state) take_times(*state, history.listed);
  // A kill may have come between the writes of a sidecar and of the state file.
  if (state && state->last_preserved_timestamp && std::isfinite(*state->last_preserved_timestamp))
    history.last_preserved_time = std::max(*state->last_preserved_timestamp, marked_time);
  if (!history.last_preserved_time && !history.listed.empty())
    history.last_preserved_time = history.listed.front().time;
  return history;
}

}  // namespace crochet::inline v0::internal
