// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

class Session;

// The work of one thread.
struct BackgroundTask {
  std::string name;           // Of the thread.
  std::function<void()> run;  // Called at most once.
};

// Work that runs in threads of its own during the runs of a session, such as filling a queue: see
// QueueRunner. A graph holds its loops; a MonitoredSession starts them with each session it
// creates, before calling after_create_session of any hook, and ends them with it.
//
// Thread-safe.
class CROCHET_EXPORT BackgroundLoop {
 public:
  virtual ~BackgroundLoop() = default;

  virtual const std::string& name() const = 0;
  // The tasks for this session, to run until `stop` is requested; none while earlier tasks for it
  // are still running. An error thrown by a task stops the session. If `stop` cannot be requested,
  // no one receives errors either: then tasks do not throw.
  // Requires: the session outlives the tasks.
  virtual std::vector<BackgroundTask> tasks(Session& session, std::stop_token stop) = 0;
};

}  // namespace crochet::inline v0
