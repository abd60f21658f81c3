// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace crochet {

class Session;

// What one thread is to do.
struct BackgroundTask {
  std::string name;           // The thread's.
  std::function<void()> run;  // Called once at most.
};

// Work for a session that goes on beside its runs, in threads of its own, such as filling a queue:
// see QueueRunner. A graph holds its loops; a MonitoredSession starts them with each session it
// creates, before any hook hears of that, and ends them with it.
//
// Thread-safe.
class BackgroundLoop {
 public:
  virtual ~BackgroundLoop() = default;

  virtual const std::string& name() const = 0;
  // What there is to do for this session until `stop` is requested; nothing while that is
  // being done already. What a task throws is a reason to stop the session. With a `stop` that
  // nobody can request, nobody hears of errors either: then tasks do not throw.
  // Requires: the session outlives the tasks.
  virtual std::vector<BackgroundTask> tasks(Session& session, std::stop_token stop) = 0;
};

}  // namespace crochet
