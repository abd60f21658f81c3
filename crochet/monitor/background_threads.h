// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/monitor/coordinator.h"
#include "crochet/session/background_loop.h"
#include "crochet/session/queue_runner.h"
#include "crochet/session/session.h"

namespace crochet {

// Threads for the loops of a graph. A MonitoredSession starts them by itself; these are for
// sessions that are made by hand.
//
//   Coordinator coordinator;
//   start_queue_runners(*session, coordinator);
//   ...
//   coordinator.request_stop({"the program", "it has seen enough"});
//   coordinator.join();
//
// Requires, of all: the session outlives the threads.

// Starts the threads of one loop, registered with the coordinator, which hears of their
// errors; none if they are at work for this session already.
CoordinatedThreads create_threads(BackgroundLoop& loop, Session& session, Coordinator& coordinator);
// The same without anybody to ask them to stop or to hear of their errors, which are logged.
CoordinatedThreads create_threads(BackgroundLoop& loop, Session& session);

// Starts the threads of all loops of the session's graph.
CoordinatedThreads start_queue_runners(Session& session, Coordinator& coordinator);

}  // namespace crochet
