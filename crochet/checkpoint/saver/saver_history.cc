// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a saver knows of the checkpoints that are there.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/file/index_file.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/checkpoint/saver/saver_core.h"
#include "crochet/io/path.h"

namespace crochet::internal {
namespace {

// True if all of `metrics` are among those that are known. Those that are not finite are all the
// same in the file.
bool are_known(const std::map<std::string, double>& metrics,
               const std::map<std::string, double>& known) {
  return std::ranges::all_of(metrics, [&](const auto& metric) {
    const auto found = known.find(metric.first);
    if (found == known.end()) return false;
    return found->second == metric.second ||
           (!std::isfinite(found->second) && !std::isfinite(metric.second));
  });
}

// A signal's handler can wake nobody: who waits looks for one this often.
constexpr std::chrono::milliseconds kSignalSlice(100);

}  // namespace

std::shared_ptr<void> SaverCore::announce_write(const std::string& prefix) {
  {
    const std::lock_guard lock(mutex_);
    announced_.insert(prefix);
  }
  return {nullptr, [this, prefix](void*) {
            {
              const std::lock_guard lock(mutex_);
              announced_.extract(prefix);
            }
            write_ended_.notify_all();
          }};
}

// What is still being saved may be the newest.
void SaverCore::wait_for_announced_writes() {
  std::unique_lock lock(mutex_);
  while (!write_ended_.wait_for(lock, kSignalSlice, [this] { return announced_.empty(); }))
    throw_if_signalled("waiting for a save before restoring");
}

void SaverCore::follow_directory(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (history_directory_ == directory) return;
  if (history_directory_ && learned_) {
    history_.set({});
    history_.set_last_preserved(retention_clock_.now(), 0);
    learned_->clear();
  }
  history_directory_ = directory;
}

bool SaverCore::learn_history(const CheckpointDirectory& directory, const std::string& basename) {
  if (policies_.empty()) return true;
  const std::string path = join_path(directory.path(), basename);
  const auto is_known = [&] { return !learned_ || learned_->contains(path); };
  {
    const std::lock_guard lock(mutex_);
    if (is_known()) return true;
  }
  FoundHistory found;
  try {
    found = find_history(directory.files(), directory.path(), basename, options_.latest_filename);
  } catch (const Error& error) {
    log_error("{}: which checkpoints are listed cannot be read now: {}", directory.path(),
              error.what());
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (is_known()) return true;
  learned_->insert(path);
  take_over(found);
  return true;
}

void SaverCore::do_without_history(const std::string& directory, const std::string& basename) {
  log_error("{}: the checkpoints that are there stay, whatever policies say", directory);
  const std::lock_guard lock(mutex_);
  if (learned_) learned_->insert(join_path(directory, basename));
}

void SaverCore::take_over(const FoundHistory& found) {
  for (const CheckpointRecord& record : found.listed) retention_clock_.catch_up(record.time);
  retention_clock_.catch_up(found.last_preserved_time.value_or(0));
  for (CheckpointRecord record : found.listed) {
    record.time = retention_clock_.plausible(record.time);
    history_.add(std::move(record));
  }
  if (found.last_preserved_time)
    history_.set_last_preserved(retention_clock_.plausible(*found.last_preserved_time),
                                found.last_preserved_step);
}

double SaverCore::retention_time() const {
  const std::lock_guard lock(mutex_);
  return retention_clock_.now();
}

void SaverCore::catch_up(double time) {
  const std::lock_guard lock(mutex_);
  retention_clock_.catch_up(time);
}

void SaverCore::note_published(FileSystem& files, const std::string& prefix, double time) {
  forget_recorded_metrics(files, prefix);
  if (policies_.empty()) return;
  const std::lock_guard lock(mutex_);
  history_.add({.prefix = prefix, .time = time, .step = step_of_prefix(prefix)});
}

std::vector<std::string> SaverCore::sweep(FileSystem& files) {
  if (policies_.empty()) return {};
  CheckpointHistory history(policies_);
  {
    const std::lock_guard lock(mutex_);
    history = history_;
  }
  const std::vector<std::string> asked = history.prefixes();
  std::vector<CheckpointRecord> records = history.records();
  refresh(files, records);
  history.update(records);
  const Sweep sweep = history.sweep();
  {
    const std::lock_guard lock(mutex_);
    history_.update(records);
    history_.take_over_sweep(history, asked);
  }
  mark_preserved(files, sweep.preserved);
  return sweep.surplus;
}

void SaverCore::pin(const std::string& prefix) { set_pinned(files_, prefix, true); }

void SaverCore::unpin(const std::string& prefix) { set_pinned(files_, prefix, false); }

void SaverCore::record_metrics(const std::string& prefix,
                               const std::map<std::string, double>& metrics) {
  write_noted_metrics();  // What was noted before is older.
  crochet::record_metrics(files_, prefix, metrics);
}

void SaverCore::note_metrics(const std::string& prefix,
                             const std::map<std::string, double>& metrics) {
  // Of checkpoints that never came there could be many.
  constexpr size_t kMaxNoted = 100;
  const std::lock_guard lock(mutex_);
  const auto known = find_noted(prefix);
  if (known != noted_metrics_.end()) {
    for (const auto& [name, value] : metrics) known->second[name] = value;
    return;
  }
  noted_metrics_.emplace_back(prefix, metrics);
  if (noted_metrics_.size() <= kMaxNoted) return;
  // That of a save under way is not known to have no checkpoint.
  const auto is_to_come = [&](const NotedMetrics& noted) {
    return announced_.contains(noted.first);
  };
  const auto oldest = std::ranges::find_if_not(noted_metrics_, is_to_come);
  if (oldest != noted_metrics_.end()) noted_metrics_.erase(oldest);
}

std::vector<SaverCore::NotedMetrics>::iterator SaverCore::find_noted(const std::string& prefix) {
  return std::ranges::find(noted_metrics_, prefix, &NotedMetrics::first);
}

std::map<std::string, double> SaverCore::noted_metrics_of(const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  const auto noted = find_noted(prefix);
  return noted == noted_metrics_.end() ? std::map<std::string, double>() : noted->second;
}

// Of a save that failed behind its sidecar, too: others may write a later one.
void SaverCore::forget_recorded_metrics(FileSystem& files, const std::string& prefix) {
  {
    const std::lock_guard lock(mutex_);
    if (find_noted(prefix) == noted_metrics_.end()) return;
  }
  try {
    const auto sidecar = read_sidecar(files, prefix);
    const std::lock_guard lock(mutex_);
    const auto noted = find_noted(prefix);
    if (sidecar && noted != noted_metrics_.end() && are_known(noted->second, sidecar->metrics))
      noted_metrics_.erase(noted);
  } catch (const Error&) {  // They are recorded once more.
  }
}

// Also what came while a save was being written, when its sidecar was made already.
void SaverCore::write_noted_metrics() {
  std::vector<NotedMetrics> noted;
  {
    const std::lock_guard lock(mutex_);
    noted = noted_metrics_;
  }
  for (const NotedMetrics& entry : noted) {
    try {
      if (!find_index(files_, entry.first)) continue;  // It may still come.
      const auto sidecar = read_sidecar(files_, entry.first);
      if (!sidecar || !are_known(entry.second, sidecar->metrics))
        crochet::record_metrics(files_, entry.first, entry.second);
      const std::lock_guard lock(mutex_);
      std::erase_if(noted_metrics_, [&](const NotedMetrics& noted_now) {
        return noted_now.first == entry.first && are_known(noted_now.second, entry.second);
      });
    } catch (const Error& error) {
      log_warning("the metrics of {} cannot be recorded: {}", entry.first, error.what());
    }
  }
}

std::vector<std::string> SaverCore::last_checkpoints() const {
  const std::lock_guard lock(mutex_);
  return history_.prefixes();
}

void SaverCore::set_history(std::vector<CheckpointRecord> records) {
  const std::lock_guard lock(mutex_);
  history_.set(std::move(records));
  learned_.reset();
}

void SaverCore::set_last_checkpoints(std::span<const std::string> prefixes) {
  std::vector<CheckpointRecord> records;
  for (const std::string& prefix : prefixes)
    records.push_back({.prefix = prefix,
                       .time = std::numeric_limits<double>::infinity(),
                       .step = internal::step_of_prefix(prefix)});
  set_history(std::move(records));
}

void SaverCore::set_last_checkpoints_with_time(
    std::span<const std::pair<std::string, double>> prefixes_and_times) {
  std::vector<CheckpointRecord> records;
  for (const auto& [prefix, time] : prefixes_and_times)
    records.push_back({.prefix = prefix, .time = time, .step = internal::step_of_prefix(prefix)});
  set_history(std::move(records));
}

void SaverCore::recover_last_checkpoints(std::span<const std::string> prefixes) {
  std::vector<CheckpointRecord> records;
  for (const std::string& prefix : prefixes)
    if (const auto record = internal::find_record(files_, prefix)) records.push_back(*record);
  set_history(std::move(records));
}

}  // namespace crochet::internal
