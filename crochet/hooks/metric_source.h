// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0 {

// A metric's value and the number of completed steps it belongs to.
struct MetricPoint {
  int64_t step = 0;
  double value = 0;
};

// Where a hook gets a metric from that is not a value of the graph but found from time to time, by
// an evaluation.
struct MetricSource {
  // Not empty where points are recorded with checkpoints; no other source there has the same.
  std::string name = {};
  // Returns the newest point; nothing before the first. Called on the training thread.
  std::function<std::optional<MetricPoint>()> newest = {};
  // Notifies the source that a session begins after `step` steps: points of later steps that were
  // measured from what was saved until now belong to steps that are lost, and it no longer returns
  // them. Hooks call it whenever a session is created. Empty: a point is used if its step is not a
  // later one.
  std::function<void(int64_t step)> resume_at = {};
  // What the source knows of lost steps. Hooks save it with the checkpoints of the run, so that the
  // next process knows it, too. Null: nothing.
  std::shared_ptr<Saveable> state = {};
};

namespace internal {

// Throws: InvalidArgumentError, which names the `option`, for a source without a name or without
// `newest`, and for two sources with the same name: their points and states are saved by it.
CROCHET_EXPORT void check_metrics(const std::string& option,
                                  const std::vector<MetricSource>& metrics);

}  // namespace internal

// The metric that an evaluator in another process writes into `eval_dir`: see evaluate_repeatedly.
// Each call of `newest` lists the directory, and reads it if a file has changed. A point counts
// unless its checkpoint was written before the run went back below its step; of an evaluator that
// does not record the checkpoint's time (metrics.jsonl, "checkpoint/time"), unless the point was.
// `files` and `clock` are the operating system's, and the machine's, if null; the clock is that of
// the checkpoints.
CROCHET_EXPORT MetricSource metric_in_directory(const std::string& eval_dir,
                                                const std::string& name,
                                                FileSystem* files = nullptr,
                                                Clock* clock = nullptr);

}  // namespace crochet::inline v0
