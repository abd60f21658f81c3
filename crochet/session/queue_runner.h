// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/session/graph.h"
#include "crochet/session/output.h"

namespace crochet::inline v0 {

struct QueueRunnerOptions {
  // For names and messages.
  std::string queue_name;
  // Each is run repeatedly in its own thread. An operation listed twice has two threads.
  std::vector<Output> enqueue_ops;
  // Run once the data has ended for the last of them, so that readers of the queue are woken.
  Output close_op = {};
  // Run when a stop is requested: it must unblock the enqueue operations.
  Output cancel_op = {};
  // An error with one of these codes means that the data ended or the queue was closed.
  std::vector<Code> queue_closed_codes = {Code::kOutOfRange};
  // Called with every other error, on the thread that hit it, before the error is reported.
  std::function<void(const std::exception_ptr& error)> on_error = {};
};

// Fills a queue of a graph in the background: threads that run its enqueue operations until the
// data ends, an error occurs, or a stop is requested.
//
//   graph.add_background_loop(std::make_shared<QueueRunner>(QueueRunnerOptions{
//       .queue_name = "examples",
//       .enqueue_ops = {enqueue, enqueue},
//       .close_op = close,
//       .cancel_op = cancel}));
//
// A MonitoredSession over that graph starts the threads; crochet/training/coordinator.h
// starts them for other sessions. An error stops the session and fails the run; without a
// coordinator, it is logged and kept in exceptions_raised().
//
// Requires: an engine whose sessions can make other runs while an operation blocks. The local
// engine makes one run after another: there, an enqueue operation must not wait for the training.
//
// Thread-safe.
class CROCHET_EXPORT QueueRunner final : public BackgroundLoop {
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

  // The errors of threads that run without a coordinator.
  std::vector<std::exception_ptr> exceptions_raised() const;
  // Waits until each enqueue operation has run once, or its thread has ended.
  // Throws: DeadlineExceededError after `timeout`; the error of an operation that failed;
  // FailedPreconditionError if there are no tasks for this session.
  void wait_for_first_runs(const Session& session, std::chrono::nanoseconds timeout) const;

 private:
  class Work;
  class Feeder;

  const std::shared_ptr<const QueueRunnerOptions> options_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<std::shared_ptr<Work>> works_;
};

}  // namespace crochet::inline v0
