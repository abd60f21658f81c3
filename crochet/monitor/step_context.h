// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/base/export.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

class MonitoredSession;

// What MonitoredSession::run_step_fn passes to a step function; valid during the call.
class CROCHET_EXPORT StepContext {
 public:
  // The engine's session; its runs call no hooks. After a recovery it is the new one.
  Session& session() const;

  // One run, with the hooks around it. An AbortedError or UnavailableError must leave the step
  // function, which is then called again as a whole.
  // Throws: as MonitoredSession::run, and errors that run would recover from.
  FetchValues run_with_hooks(const Fetches& fetches, const Feeds& feeds = {},
                             const RunOptions& options = {}, RunMetadata* metadata = nullptr);

  // Requests a stop and leaves the step function by throwing StopIteration, which ends a
  // scope cleanly: see run_in_scope.
  [[noreturn]] void request_stop(std::string reason = "requested by the step function");

 private:
  friend class MonitoredSession;
  explicit StepContext(MonitoredSession& owner) : owner_(owner) {}

  MonitoredSession& owner_;
};

}  // namespace crochet::inline v0
