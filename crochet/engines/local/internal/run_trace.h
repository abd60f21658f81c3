// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "crochet/base/clock.h"
#include "crochet/engines/local/internal/graph_state.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::local::internal {

// Times the operations of one run and enforces its deadline; does nothing if the run's options ask
// for neither.
class RunTrace {
 public:
  // Empties `metadata`, which may be null. Requires: both outlive this.
  RunTrace(const RunOptions& options, RunMetadata* metadata)
      : timeout_in_ms_(options.timeout_in_ms),
        metadata_(options.trace_level == TraceLevel::kNone ? nullptr : metadata) {
    if (metadata != nullptr) metadata->clear();
    if (is_on()) start();
  }

  // False if begin() and end() do nothing.
  bool is_on() const { return timeout_in_ms_ > 0 || metadata_ != nullptr; }
  // Called before an operation. Throws: DeadlineExceededError if the run has exceeded its time
  // limit.
  void begin(const Node& node);
  void end(const Node& node, std::span<const Tensor> outputs);

 private:
  void start();

  const int64_t timeout_in_ms_;
  RunMetadata* const metadata_;  // Null unless operations are timed.
  Clock::TimePoint start_;
  Clock::TimePoint operation_start_;
};

}  // namespace crochet::inline v0::local::internal
