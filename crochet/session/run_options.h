// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace crochet {

// How much a run records of itself; each level includes those below it. The numbers
// are TensorFlow's (RunOptions.TraceLevel in config.proto).
enum class TraceLevel { kNone = 0, kSoftware = 1, kHardware = 2, kFull = 3 };

// How a run is to be made, beyond what it computes. Engines ignore what means nothing to them.
struct RunOptions {
  // From kSoftware on, the run times its operations.
  TraceLevel trace_level = TraceLevel::kNone;
  // After this time the run fails with a DeadlineExceededError; 0 is no limit. An operation that
  // has begun is not interrupted by every engine.
  int64_t timeout_in_ms = 0;
  // Which of the engine's thread pools runs it.
  int inter_op_thread_pool = 0;
  // Asks for RunMetadata::partition_graphs.
  bool output_partition_graphs = false;
  // Asks for the list of live tensors in the message if memory runs out.
  bool report_tensor_allocations_upon_oom = false;
  // Values that a debugger of the engine watches, in the engine's words, and whether
  // what it has used of the disk is counted from zero.
  std::vector<std::string> debug_tensor_watches = {};
  bool reset_disk_byte_usage = false;

  friend bool operator==(const RunOptions&, const RunOptions&) = default;
};

// Adds to `options` what `more` asks for: of numbers the larger one, of switches whether either is
// on, and the watches of `more` behind those there are.
void merge(RunOptions& options, const RunOptions& more);

}  // namespace crochet
