// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/export.h"
#include "crochet/monitor/monitored_session.h"

namespace crochet::inline v0 {

struct SingularMonitoredSessionOptions {
  // As in MonitoredSessionOptions.
  double stop_grace_period_secs = 120;
  // Clock::real() if null. Not owned.
  Clock* clock = nullptr;
};

// A monitored session that never replaces its engine's session: an AbortedError or
// UnavailableError is an error like any other, and should_stop() throws the error that a
// thread reported. For programs that recover on their own, or need the raw session.
class CROCHET_EXPORT SingularMonitoredSession final : public MonitoredSession {
 public:
  // Throws: as MonitoredSession does, and errors that MonitoredSession would recover from.
  SingularMonitoredSession(std::unique_ptr<SessionCreator> creator, HookList hooks,
                           const SingularMonitoredSessionOptions& options = {})
      : MonitoredSession(
            std::move(creator), std::move(hooks),
            {.stop_grace_period_secs = options.stop_grace_period_secs, .clock = options.clock},
            Recovery::kOff) {}

  // The same with a ChiefSessionCreator with these options: scaffold, target, settings, and what
  // is restored.
  explicit SingularMonitoredSession(Graph& graph, HookList hooks = {},
                                    ChiefSessionCreatorOptions creation = {},
                                    const SingularMonitoredSessionOptions& options = {})
      : SingularMonitoredSession(std::make_unique<ChiefSessionCreator>(graph, std::move(creation)),
                                 std::move(hooks), options) {}

  // The engine's session; runs of it call no hooks. Null once this is closed.
  Session* raw_session() const { return engine_session(); }
};

}  // namespace crochet::inline v0
