// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/checkpoint_metrics.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/hooks/internal/from_tensor.h"
#include "crochet/hooks/internal/periodic_hook.h"

namespace crochet::inline v0::internal {

void CheckpointMetrics::begin(const Graph& graph, const Saver* saver, const SessionRunHook& hook) {
  value_ = Fetches();
  if (saver == nullptr || !saver->options().keep_best) return;
  name_ = saver->options().keep_best->metric;
  const auto is_it = [&](const MetricSource& source) { return source.name == name_; };
  if (std::ranges::any_of(sources_, is_it)) return;
  try {
    value_ = resolve_values(graph, name_, hook);
  } catch (const NotFoundError&) {
    log_warning(
        fmt::format("keep_best: no metric \"{}\": neither a value of the run has this name nor one "
                    "of the metrics recorded with checkpoints, so none is kept as the best by it",
                    name_));
  }
}

void CheckpointMetrics::resume_at(int64_t step) {
  newest_ = Tensor();
  for (const MetricSource& source : sources_)
    if (source.resume_at) source.resume_at(step);
}

SaveableMap CheckpointMetrics::state() const {
  SaveableMap state;
  for (const MetricSource& source : sources_)
    if (source.state) state[source.name] = source.state;
  return state;
}

void CheckpointMetrics::record_value(Session& session, Saver& saver, const std::string& save_path,
                                     int64_t step) {
  if (!has_value()) return;
  const auto record = [&](const Tensor& value) {
    saver.record_metrics_later(saver.prefix_of(save_path, step),
                               {{name_, number_of("keep_best: ", name_, value)}});
  };
  if (newest_.is_set()) return record(newest_);
  try {
    record(session.run(value_).tensor());
  } catch (const std::exception& error) {  // A metric is worth less than the checkpoint.
    log_warning(
        fmt::format("the checkpoint of step {} has no value of {}: {}", step, name_, error.what()));
  }
}

void CheckpointMetrics::record_points(Saver& saver, const std::string& save_path, int64_t step) {
  for (const MetricSource& source : sources_) {
    const std::optional<MetricPoint> point = source.newest();
    // A point of a later step was found before a recovery, for a step that is lost.
    if (!point || point->step > step) continue;
    if (const auto recorded = recorded_.find(source.name);
        recorded != recorded_.end() && recorded->second == point->step)
      continue;
    recorded_[source.name] = point->step;
    saver.record_metrics_later(saver.prefix_of(save_path, point->step),
                               {{source.name, point->value}});
  }
}

}  // namespace crochet::inline v0::internal
