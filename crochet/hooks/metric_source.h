// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "crochet/base/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// A metric's value and the number of completed steps it belongs to.
struct MetricPoint {
  int64_t step = 0;
  double value = 0;
};

// Where a hook gets a metric from that is not a value of the graph but found from time to time, by
// an evaluation.
struct MetricSource {
  std::string name = {};
  // Returns the newest point; nothing before the first. Called on the training thread.
  std::function<std::optional<MetricPoint>()> newest = {};
  // Notifies the source that a session begins after `step` steps: points of later steps that there
  // are now belong to steps that are lost, and it no longer returns them. Hooks call it whenever a
  // session is created. Empty: a point is used if its step is not a later one.
  std::function<void(int64_t step)> resume_at = {};
};

// The metric that an evaluator in another process writes into `eval_dir`: see evaluate_repeatedly.
// Each call of `newest` reads the directory. `files` is the operating system's if null.
CROCHET_EXPORT MetricSource metric_in_directory(const std::string& eval_dir,
                                                const std::string& name,
                                                FileSystem* files = nullptr);

}  // namespace crochet::inline v0
