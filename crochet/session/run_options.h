// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

// How much a run records about itself; each level includes those below it. The numbers
// are TensorFlow's (RunOptions.TraceLevel in config.proto).
enum class TraceLevel { kNone = 0, kSoftware = 1, kHardware = 2, kFull = 3 };

// Options of a run, apart from what it computes. Engines ignore those they do not support.
struct RunOptions {
  // From kSoftware on, the run times its operations.
  TraceLevel trace_level = TraceLevel::kNone;
  // After this time the run fails with a DeadlineExceededError; 0: no limit. Not every engine
  // interrupts an operation that has begun.
  int64_t timeout_in_ms = 0;
  // Which of the engine's thread pools runs it.
  int inter_op_thread_pool = 0;
  // Requests RunMetadata::partition_graphs.
  bool output_partition_graphs = false;
  // Requests a list of live tensors in the error message if memory runs out.
  bool report_tensor_allocations_upon_oom = false;
  // Values that a debugger of the engine watches, in the engine's notation, and whether
  // its count of disk usage is reset to zero.
  std::vector<std::string> debug_tensor_watches = {};
  bool reset_disk_byte_usage = false;

  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

// Merges `more` into `options`: takes the larger of two numbers, sets a switch if either is set,
// and appends the watches of `more`.
CROCHET_EXPORT void merge(RunOptions& options, const RunOptions& more);

}  // namespace crochet::inline v0
