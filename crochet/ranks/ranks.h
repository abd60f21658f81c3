// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/group/group.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0 {

// Why a run should stop, and who requested it.
struct StopRequest {
  std::string who;     // "StopAtStepHook", "the program".
  std::string reason;  // "reached step 2000".
  int signal = 0;      // The signal that caused it, or 0.
  // True if the body of a Loop has ended the run, for good: its checkpoint has the reason.
  bool is_end = false;
};

// The request that stops a monitored session, if there is one: the first, kept through recoveries.
// After it, no further run is made, except the runs of a call that a recovery repeats.
//
// Not thread-safe.
class CROCHET_EXPORT StopState {
 public:
  // Keeps and logs the request, unless there already is one.
  void request_stop(StopRequest request);
  const std::optional<StopRequest>& stop_request() const { return request_; }

  // True if another run would come after a request to stop.
  bool refuses_runs() const { return num_requests_ > num_excused_; }
  // A call begins, of a run or a step function: its runs come after all requests made so far.
  void begin_call() { num_excused_ = 0; }
  // The call is repeated: its runs are refused only after another request.
  void repeat_call() { num_excused_ = num_requests_; }

  // From now on, a request is only a proposal, until it is decided: the ranks of a group stop
  // together.
  void hold() { is_held_ = true; }
  const std::optional<StopRequest>& proposal() const { return proposal_; }
  // Makes this the request, unless there already is one.
  void decide(StopRequest request);

 private:
  std::optional<StopRequest> request_;
  std::optional<StopRequest> proposal_;
  bool is_held_ = false;
  int64_t num_requests_ = 0;  // Those that were decided, also after the first.
  int64_t num_excused_ = 0;
};

// The group of ranks in which the current run of this graph takes part, for hooks; null if it runs
// alone. Known from begin() on. Hooks must not call its functions.
CROCHET_EXPORT const Group* group_of(const Graph& graph);

}  // namespace crochet::inline v0
