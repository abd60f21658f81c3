// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a saver knows of the checkpoints that are there.
#include <algorithm>
#include <cmath>
#include <limits>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/bundle_format.h"
#include "crochet/checkpoint/checkpoint_sidecar.h"
#include "crochet/checkpoint/saver.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

// Those that are not finite are all the same in the file.
bool has_metrics(const CheckpointSidecar& sidecar, const std::map<std::string, double>& metrics) {
  return std::ranges::all_of(metrics, [&](const auto& metric) {
    const auto found = sidecar.metrics.find(metric.first);
    if (found == sidecar.metrics.end()) return false;
    return found->second == metric.second ||
           (!std::isfinite(found->second) && !std::isfinite(metric.second));
  });
}

}  // namespace

std::shared_ptr<void> Saver::announce_write() {
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
void Saver::wait_for_announced_writes() {
  std::unique_lock lock(mutex_);
  write_ended_.wait(lock, [this] { return announced_writes_ == 0; });
}

void Saver::follow_directory(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  if (history_directory_ == directory) return;
  if (history_directory_ && learned_) {
    history_.set({});
    history_.set_last_preserved(retention_clock_.now(), 0);
    learned_->clear();
  }
  history_directory_ = directory;
}

void Saver::learn_history(const std::string& directory, const std::string& basename) {
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
  for (const CheckpointRecord& record : found.listed) {
    history_.add(record);
    retention_clock_.catch_up(record.time);
  }
  retention_clock_.catch_up(found.last_preserved_time.value_or(0));
  if (found.last_preserved_time)
    history_.set_last_preserved(*found.last_preserved_time, found.last_preserved_step);
}

double Saver::retention_time() const {
  const std::lock_guard lock(mutex_);
  return retention_clock_.now();
}

void Saver::note_published(const std::string& prefix, double time) {
  const std::lock_guard lock(mutex_);
  std::erase_if(noted_metrics_, [&](const auto& noted) { return noted.first == prefix; });
  if (policies_.empty()) return;
  history_.add({.prefix = prefix, .time = time, .step = internal::step_of_prefix(prefix)});
}

std::vector<std::string> Saver::add_and_sweep(const std::string& prefix, double time) {
  note_published(prefix, time);
  write_noted_metrics();
  if (policies_.empty()) return {};
  std::vector<CheckpointRecord> records;
  {
    const std::lock_guard lock(mutex_);
    records = history_.records();
  }
  internal::refresh(files_, records);  // Without the mutex: training asks for it.
  internal::Sweep sweep;
  {
    const std::lock_guard lock(mutex_);
    history_.update(records);
    sweep = history_.sweep();
  }
  internal::mark_preserved(files_, sweep.preserved);
  return sweep.surplus;
}

void Saver::pin(const std::string& prefix) {
  const std::lock_guard removing(removing_);
  set_pinned(files_, prefix, true);
}

void Saver::unpin(const std::string& prefix) { set_pinned(files_, prefix, false); }

void Saver::record_metrics(const std::string& prefix,
                           const std::map<std::string, double>& metrics) {
  write_noted_metrics();  // What was noted before is older.
  crochet::record_metrics(files_, prefix, metrics);
}

void Saver::note_metrics(const std::string& prefix, const std::map<std::string, double>& metrics) {
  // Of checkpoints that never came there could be many.
  constexpr size_t kMaxNoted = 100;
  const std::lock_guard lock(mutex_);
  noted_metrics_.emplace_back(prefix, metrics);
  if (noted_metrics_.size() > kMaxNoted) noted_metrics_.erase(noted_metrics_.begin());
}

std::map<std::string, double> Saver::noted_metrics_of(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, double> metrics;
  for (const auto& [noted, values] : noted_metrics_)
    if (noted == prefix)
      for (const auto& [name, value] : values) metrics[name] = value;
  return metrics;
}

void Saver::write_noted_metrics() {
  std::vector<std::pair<std::string, std::map<std::string, double>>> noted;
  {
    const std::lock_guard lock(mutex_);
    noted = noted_metrics_;
  }
  for (const auto& entry : noted) {
    try {
      if (!files_.exists(index_filename(entry.first))) continue;  // It may still come.
      const auto sidecar = read_sidecar(files_, entry.first);
      if (!sidecar || !has_metrics(*sidecar, entry.second))
        crochet::record_metrics(files_, entry.first, entry.second);
      const std::lock_guard lock(mutex_);
      std::erase(noted_metrics_, entry);
    } catch (const Error& error) {
      log_warning("the metrics of {} cannot be recorded: {}", entry.first, error.what());
    }
  }
}

std::vector<std::string> Saver::last_checkpoints() const {
  const std::lock_guard lock(mutex_);
  return history_.prefixes();
}

void Saver::set_history(std::vector<CheckpointRecord> records) {
  const std::lock_guard lock(mutex_);
  history_.set(std::move(records));
  learned_.reset();
}

void Saver::set_last_checkpoints(std::span<const std::string> prefixes) {
  std::vector<CheckpointRecord> records;
  for (const std::string& prefix : prefixes)
    records.push_back({.prefix = prefix,
                       .time = std::numeric_limits<double>::infinity(),
                       .step = internal::step_of_prefix(prefix)});
  set_history(std::move(records));
}

void Saver::set_last_checkpoints_with_time(
    std::span<const std::pair<std::string, double>> prefixes_and_times) {
  std::vector<CheckpointRecord> records;
  for (const auto& [prefix, time] : prefixes_and_times)
    records.push_back({.prefix = prefix, .time = time, .step = internal::step_of_prefix(prefix)});
  set_history(std::move(records));
}

void Saver::recover_last_checkpoints(std::span<const std::string> prefixes) {
  std::vector<CheckpointRecord> records;
  for (const std::string& prefix : prefixes)
    if (const auto record = internal::find_record(files_, prefix)) records.push_back(*record);
  set_history(std::move(records));
}

}  // namespace crochet
