// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/session/internal/trace_span.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

struct ChromeTraceOptions {
  // Arrows from each operation to those that use its values.
  bool show_dataflow = true;
  // A curve for each device: the bytes of the values that are still needed by operations; values
  // that no operation of the run uses count until its end.
  bool show_memory = false;
};

// A run of the engine within a trace.
struct TracedRun {
  RunMetadata metadata;
  std::chrono::nanoseconds start = {};  // Since the trace began.
};

// Chrome's trace event format, a JSON object that chrome://tracing and ui.perfetto.dev open:
// devices are processes, and operations are complete ("X") events on their threads; spans are in a
// process of their own, with a thread for each track. Times are in microseconds since the trace
// began.
CROCHET_EXPORT std::string chrome_trace(std::span<const TracedRun> runs,
                                        std::span<const TraceSpan> spans = {},
                                        const ChromeTraceOptions& options = {});

// The bytes of TensorFlow's message RunMetadata for TensorBoard:
//
//   RunMetadata     := 1 step_stats:StepStats
//   StepStats       := 1 dev_stats:DeviceStepStats, repeated
//   DeviceStepStats := 1 device:string  2 node_stats:NodeExecStats, repeated
//   NodeExecStats   := 1 node_name:string  2 all_start_micros  3 op_start_rel_micros
//                      4 op_end_rel_micros  5 all_end_rel_micros:int64  6 memory:{2 total_bytes}
//                      8 timeline_label:string  10 thread_id:uint32
//                      13 all_start_nanos  14, 15, 16 as 3, 4, 5 in nanoseconds
std::string encode_run_metadata(const RunMetadata& run);

}  // namespace crochet::inline v0::internal
