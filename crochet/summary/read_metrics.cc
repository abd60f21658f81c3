// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/error.h"
#include "crochet/summary/event_file_reader.h"

namespace crochet::inline v0 {
namespace {

using internal::TimedMetrics;

void read_event(const Event& event, std::map<int64_t, TimedMetrics>& metrics) {
  // As in TensorBoard: a start removes the points with its step or a later one.
  if (event.session_log && event.session_log->status == SessionLog::kStart)
    metrics.erase(metrics.lower_bound(event.step), metrics.end());
  for (const SummaryValue& value : event.values)
    if (!value.histogram && !value.text.is_set()) {
      metrics[event.step].metrics[value.tag] = value.simple_value;
      metrics[event.step].time = event.wall_time;
    }
}

}  // namespace

std::map<int64_t, TimedMetrics> internal::read_timed_metrics(FileSystem& files,
                                                             const std::string& eval_dir) {
  std::map<int64_t, TimedMetrics> metrics;
  for (const std::string& path : event_files(files, eval_dir)) {
    try {
      EventFileReader reader(files, path);
      while (const auto event = reader.read()) read_event(*event, metrics);
    } catch (const DataLossError&) {  // The end of the complete records.
    } catch (const NotFoundError&) {  // Removed meanwhile.
    }
  }
  return metrics;
}

std::map<int64_t, Metrics> read_eval_metrics(FileSystem& files, const std::string& eval_dir) {
  std::map<int64_t, Metrics> metrics;
  for (auto& [step, timed] : internal::read_timed_metrics(files, eval_dir))
    metrics.emplace(step, std::move(timed.metrics));
  return metrics;
}

}  // namespace crochet::inline v0
