// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/export.h"
#include "crochet/monitor/coordinator.h"
#include "crochet/session/background_loop.h"
#include "crochet/session/queue_runner.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {

// Threads for the loops of a graph. A MonitoredSession starts them itself; these functions are for
// sessions created by hand.
//
//   Coordinator coordinator;
//   start_queue_runners(*session, coordinator);
//   ...
//   coordinator.request_stop({"the program", "it has seen enough"});
//   coordinator.join();
//
// All require that the session outlives the threads.

// Starts the threads of one loop, registered with the coordinator, which receives their
// errors; starts none if the loop is already running for this session.
CROCHET_EXPORT CoordinatedThreads create_threads(BackgroundLoop& loop, Session& session,
                                                 Coordinator& coordinator);
// The same without a coordinator: nothing stops the threads, and their errors are logged.
CROCHET_EXPORT CoordinatedThreads create_threads(BackgroundLoop& loop, Session& session);

// Starts the threads of all loops of the session's graph.
CROCHET_EXPORT CoordinatedThreads start_queue_runners(Session& session, Coordinator& coordinator);

}  // namespace crochet::inline v0
