// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/session/background_loop.h"
#include "crochet/session/output.h"

namespace crochet {

struct QueueRunnerOptions {
  // For names and messages.
  std::string queue_name;
  // Each is run again and again, in a thread of its own. One listed twice has two threads.
  std::vector<Output> enqueue_ops;
  // Run once the data ended for the last of them, so that readers of the queue hear of it.
  Output close_op = {};
  // Run when the session is asked to stop: it must end what blocks the others.
  Output cancel_op = {};
  // An error of one of these codes means that the data ended, or that somebody closed the queue.
  std::vector<Code> queue_closed_codes = {Code::kOutOfRange};
  // Hears of every other error, on the thread that met it, before anybody else does.
  std::function<void(const std::exception_ptr& error)> on_error = {};
};

// Fills a queue of a graph in the background: threads that run its enqueue operations until the
// data ends, an error happens, or the session is asked to stop.
//
//   graph.add_background_loop(std::make_shared<QueueRunner>(QueueRunnerOptions{
//       .queue_name = "examples",
//       .enqueue_ops = {enqueue, enqueue},
//       .close_op = close,
//       .cancel_op = cancel}));
//
// A MonitoredSession over that graph does the rest; crochet/monitor/background_threads.h starts
// the threads for other sessions. An error stops the session, and is the run's; without anybody to
// hear of it, it is logged and kept in exceptions_raised().
//
// Requires: an engine whose sessions go on with other runs while an operation waits. The local
// engine makes one run after another: there, an enqueue operation must not wait for the training.
//
// Thread-safe.
class QueueRunner final : public BackgroundLoop {
 public:
  // Throws: InvalidArgumentError without a name, operations or codes, and for operations of
  // different graphs.
  explicit QueueRunner(QueueRunnerOptions options);
  ~QueueRunner() override;

  const std::string& name() const override { return options_->queue_name; }
  // One for each enqueue operation, "QueueRunnerThread-<queue>-<operation>", and, if there is a
  // cancel operation and `stop` can be requested, "QueueRunnerThread-<queue>-close_on_stop".
  // Forgets the exceptions of tasks that have ended.
  std::vector<BackgroundTask> tasks(Session& session, std::stop_token stop) override;

  // The errors that nobody else heard of.
  std::vector<std::exception_ptr> exceptions_raised() const;
  // Waits until each enqueue operation has run once, or its thread ended.
  // Throws: DeadlineExceededError after `timeout`; the error of one that failed;
  // FailedPreconditionError if there are no tasks for this session.
  void wait_for_first_runs(const Session& session, std::chrono::nanoseconds timeout) const;

 private:
  class Work;
  class Feeder;

  const std::shared_ptr<const QueueRunnerOptions> options_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::shared_ptr<Work>> works_;
};

}  // namespace crochet
