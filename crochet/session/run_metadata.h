// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace crochet::inline v0 {

// When one operation ran.
struct OperationTiming {
  std::string name;
  // The operations that produced its inputs: "dense", "dense:1", "^init".
  std::vector<std::string> inputs = {};
  // Where it ran, as the engine names it: "/local", "/job:worker/task:1/device:CPU:0".
  std::string device = {};
  // Distinguishes the threads of a device.
  int64_t thread = 0;
  std::chrono::nanoseconds start = {};  // Since the run began.
  std::chrono::nanoseconds duration = {};
  // Of the values it produced.
  int64_t output_bytes = 0;
};

// What a run recorded about itself.
struct RunMetadata {
  // Keeps the memory.
  void clear() {
    start_time = 0;
    operations.clear();
    partition_graphs.clear();
  }

  // When the run began: seconds since 1970-01-01 UTC. 0 if nothing was timed.
  double start_time = 0;
  // In the order in which they began; empty unless the run's options request a trace.
  std::vector<OperationTiming> operations = {};
  // The graphs that were run, each in the engine's own format, if the options request them.
  std::vector<std::string> partition_graphs = {};
};

}  // namespace crochet::inline v0
