// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a saver knows of the checkpoints that are there.
#include <chrono>
#include <limits>

#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/saver_core.h"
#include "crochet/io/path.h"

namespace crochet::internal {
namespace {

// A signal's handler can wake nobody: who waits looks for one this often.
constexpr std::chrono::milliseconds kSignalSlice(100);

}  // namespace

std::shared_ptr<void> SaverCore::announce_write() {
  {
    const std::lock_guard lock(mutex_);
    ++announced_writes_;
  }
  return {nullptr, [this](void*) {
            {
              const std::lock_guard lock(mutex_);
              --announced_writes_;
            }
            write_ended_.notify_all();
          }};
}

// What is still being saved may be the newest.
void SaverCore::wait_for_announced_writes() {
  std::unique_lock lock(mutex_);
  while (!write_ended_.wait_for(lock, kSignalSlice, [this] { return announced_writes_ == 0; }))
    throw_if_signalled("waiting for a save before restoring");
}

void SaverCore::follow_directory(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (history_directory_ == directory) return;
  if (history_directory_ && learned_) {
    history_.set({});
    history_.set_last_preserved(clock_.wall_time(), 0);
    learned_->clear();
  }
  history_directory_ = directory;
}

void SaverCore::learn_history(const std::string& directory, const std::string& basename) {
  if (policies_.empty()) return;
  const std::string path = join_path(directory, basename);
  const auto is_known = [&] { return !learned_ || learned_->contains(path); };
  {
    const std::lock_guard lock(mutex_);
    if (is_known()) return;
  }
  const internal::FoundHistory found =
      internal::find_history(files_, directory, basename, options_.latest_filename);
  const std::lock_guard lock(mutex_);
  if (is_known()) return;
  learned_->insert(path);
  for (const CheckpointRecord& record : found.listed) history_.add(record);
  if (found.last_preserved_time)
    history_.set_last_preserved(*found.last_preserved_time, found.last_preserved_step);
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
