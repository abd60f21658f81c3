// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/noted_metrics.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"

namespace crochet::inline v0::internal {
namespace {

// Limits the number of checkpoints that are never written.
constexpr size_t kMaxNoted = 100;

// True if all of `metrics` are in `known`. Non-finite values are indistinguishable in the file.
bool are_known(const std::map<std::string, double>& metrics,
               const std::map<std::string, double>& known) {
  return std::ranges::all_of(metrics, [&](const auto& metric) {
    const auto found = known.find(metric.first);
    if (found == known.end()) return false;
    return found->second == metric.second ||
           (!std::isfinite(found->second) && !std::isfinite(metric.second));
  });
}

}  // namespace

std::vector<NotedMetrics::Noted>::iterator NotedMetrics::find(const std::string& prefix) {
  return std::ranges::find(noted_, prefix, &Noted::first);
}

void NotedMetrics::note(const std::string& prefix, const std::map<std::string, double>& metrics,
                        const std::function<bool(const std::string& prefix)>& is_to_come) {
  const std::lock_guard lock(mutex_);
  if (const auto known = find(prefix); known != noted_.end()) {
    for (const auto& [name, value] : metrics) known->second[name] = value;
    return;
  }
  noted_.emplace_back(prefix, metrics);
  if (noted_.size() <= kMaxNoted) return;
  const auto oldest = std::ranges::find_if_not(noted_, is_to_come, &Noted::first);
  if (oldest != noted_.end()) noted_.erase(oldest);
}

std::map<std::string, double> NotedMetrics::of(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  const auto noted = std::ranges::find(noted_, prefix, &Noted::first);
  return noted == noted_.end() ? std::map<std::string, double>() : noted->second;
}

// Also for a save that failed after its sidecar was written: others may write a later value.
void NotedMetrics::forget_recorded(FileSystem& files, const std::string& prefix) {
  if (of(prefix).empty()) return;
  try {
    const auto sidecar = read_sidecar(files, prefix);
    const std::lock_guard lock(mutex_);
    const auto noted = find(prefix);
    if (sidecar && noted != noted_.end() && are_known(noted->second, sidecar->metrics))
      noted_.erase(noted);
  } catch (const Error&) {  // They are recorded again.
  }
}

// Also writes metrics noted during a save, after its sidecar was created.
void NotedMetrics::write(FileSystem& files) {
  std::vector<Noted> all;
  {
    const std::lock_guard lock(mutex_);
    all = noted_;
  }
  for (const auto& [prefix, metrics] : all) {
    try {
      if (!find_index(files, prefix)) continue;  // It may still be written.
      const auto sidecar = read_sidecar(files, prefix);
      if (!sidecar || !are_known(metrics, sidecar->metrics)) record_metrics(files, prefix, metrics);
      const std::lock_guard lock(mutex_);
      const auto noted = find(prefix);
      if (noted != noted_.end() && are_known(noted->second, metrics)) noted_.erase(noted);
    } catch (const Error& error) {
      log_warning(fmt::format("the metrics of {} cannot be recorded: {}", prefix, error.what()));
    }
  }
}

}  // namespace crochet::inline v0::internal
