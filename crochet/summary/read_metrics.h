// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "crochet/base/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// The values measured at one step, by name.
using Metrics = std::map<std::string, double>;

// The points of all curves in a directory's events files, by step, as written by an evaluator in
// another process; without points invalidated by a later session. Empty if there is no directory.
// Incomplete records, which a process is writing or left when killed, are ignored.
//
// TensorFlow's read_eval_metrics. Values have single precision.
CROCHET_EXPORT std::map<int64_t, Metrics> read_eval_metrics(FileSystem& files,
                                                            const std::string& eval_dir);

namespace internal {

// The same with the time at which each step's last value was written, in seconds since 1970-01-01
// UTC.
struct TimedMetrics {
  Metrics metrics = {};
  double time = 0;
};
CROCHET_EXPORT std::map<int64_t, TimedMetrics> read_timed_metrics(FileSystem& files,
                                                                  const std::string& eval_dir);

}  // namespace internal
}  // namespace crochet::inline v0
