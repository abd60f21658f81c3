// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/training/coordinator.h"

namespace crochet::inline v0 {

CoordinatedThreads create_threads(BackgroundLoop& loop, Session& session,
                                  Coordinator& coordinator) {
  CoordinatedThreads threads;
  for (BackgroundTask& task : loop.tasks(session, coordinator.stop_token()))
    threads.push_back(coordinator.start_thread(std::move(task.name), std::move(task.run)));
  return threads;
}

CoordinatedThreads create_threads(BackgroundLoop& loop, Session& session) {
  CoordinatedThreads threads;
  for (BackgroundTask& task : loop.tasks(session, std::stop_token()))
    threads.push_back(std::make_shared<CoordinatedThread>(
        task.name, [name = task.name, run = std::move(task.run)] {
          try {
            run();
          } catch (...) {
            log_error(fmt::format("thread \"{}\": {}", name, describe(std::current_exception())));
          }
        }));
  return threads;
}

CoordinatedThreads start_queue_runners(Session& session, Coordinator& coordinator) {
  CoordinatedThreads all;
  for (const auto& loop : session.graph().background_loops()) {
    const CoordinatedThreads threads = create_threads(*loop, session, coordinator);
    all.insert(all.end(), threads.begin(), threads.end());
  }
  return all;
}

}  // namespace crochet::inline v0
