// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "crochet/checkpoint/saver/saver.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/session/session.h"
#include "crochet/tensor/tensor.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// The metrics that are recorded with checkpoints: the newest points of sources, and, if none of
// them has it, the metric by which the saver keeps the best, as a value of the graph.
class CheckpointMetrics {
 public:
  explicit CheckpointMetrics(std::vector<MetricSource> sources) : sources_(std::move(sources)) {}

  // Looks up the metric of the saver's keep_best in the graph, for a hook, unless a source has it.
  // A saver that is null keeps none.
  void begin(const Graph& graph, const Saver* saver, const SessionRunHook& hook);
  // A session begins after `step` steps.
  void resume_at(int64_t step);
  // What the sources know.
  SaveableMap state() const;

  bool has_value() const { return !value_.empty(); }
  // Requests the value with the next run. Requires: has_value().
  const Fetches& request() {
    is_requested_ = true;
    return value_;
  }
  // A run is over, which has the value if it was requested.
  void end_run(const SessionRunValues& values) {
    if (!is_requested_ && !newest_.is_set()) return;
    newest_ = is_requested_ ? values.results.tensor() : Tensor();
    is_requested_ = false;
  }
  bool has_newest() const { return newest_.is_set(); }

  // Records the value with the checkpoint of `step`: that of the last run, or else computed in a
  // run of its own. An error of that is logged.
  void record_value(Session& session, Saver& saver, const std::string& save_path, int64_t step);
  // Records new points of the sources, each with the checkpoint of its step: this one or earlier.
  void record_points(Saver& saver, const std::string& save_path, int64_t step);

 private:
  const std::vector<MetricSource> sources_;
  std::string name_;  // Of the value.
  Fetches value_;     // Empty: none.
  bool is_requested_ = false;
  Tensor newest_;                            // Unset if it was not requested with the last run.
  std::map<std::string, int64_t> recorded_;  // The step of each source's last recorded point.
};

}  // namespace crochet::inline v0::internal
