// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/queue_runner.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/session/session.h"

namespace crochet::inline v0 {
namespace {

void check(const QueueRunnerOptions& options) {
  if (options.queue_name.empty()) throw InvalidArgumentError("a queue runner without a queue_name");
  if (options.enqueue_ops.empty())
    throw InvalidArgumentError(
        fmt::format("queue \"{}\": a queue runner without enqueue_ops", options.queue_name));
  if (options.queue_closed_codes.empty())
    throw InvalidArgumentError(
        fmt::format("queue \"{}\": a queue runner without queue_closed_codes", options.queue_name));
  std::vector<Output> all = options.enqueue_ops;
  if (options.close_op) all.push_back(options.close_op);
  if (options.cancel_op) all.push_back(options.cancel_op);
  for (const Output& output : all)
    if (output.graph() == nullptr || output.graph() != all.front().graph())
      throw InvalidArgumentError(
          fmt::format("queue \"{}\": {} is not an operation of the graph of the others",
                      options.queue_name, to_string(output)));
}

}  // namespace

// The threads for one session. The address of the session identifies it: the session outlives the
// threads.
class QueueRunner::Work {
 public:
  Work(std::shared_ptr<const QueueRunnerOptions> options, Session& session, std::stop_token stop)
      : options_(std::move(options)),
        session_(session),
        has_listener_(stop.stop_possible()),
        stop_(std::move(stop)),
        num_live_(options_->enqueue_ops.size()),
        num_waiting_(num_live_) {}

  bool is_for(const Session& session) const { return &session_ == &session; }
  bool is_live() const {
    const std::lock_guard lock(mutex_);
    return num_live_ > 0;
  }
  std::vector<std::exception_ptr> errors() const {
    const std::lock_guard lock(mutex_);
    return errors_;
  }

  void wait_for_first_runs(std::chrono::nanoseconds timeout) const {
    std::unique_lock lock(mutex_);
    const bool done =
        changed_.wait_for(lock, timeout, [this] { return num_waiting_ == 0 || first_error_; });
    if (first_error_) std::rethrow_exception(first_error_);
    if (!done)
      throw DeadlineExceededError(
          fmt::format("queue \"{}\": {} of {} enqueue operations have not run in {} s",
                      options_->queue_name, num_waiting_, options_->enqueue_ops.size(),
                      std::chrono::duration<double>(timeout).count()));
  }

  bool stop_requested() const { return stop_.stop_requested(); }
  bool is_closed_error(const std::exception_ptr& error) const {
    return has_code(error, options_->queue_closed_codes);
  }
  void run(const Output& output) { session_.run(output); }
  // An enqueue operation has run once, or never will.
  void record_first_run() {
    const std::lock_guard lock(mutex_);
    --num_waiting_;
    changed_.notify_all();
  }
  // An enqueue operation has ended; true for the last one.
  bool count_down() {
    const std::lock_guard lock(mutex_);
    --num_live_;
    changed_.notify_all();
    return num_live_ == 0;
  }

  void close() {
    if (!options_->close_op || stop_requested()) return;
    try {
      run(options_->close_op);
    } catch (...) {
      report(std::current_exception());
    }
  }

  void cancel_on_stop() {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop_, [this] { return num_live_ == 0; });
    }
    if (!stop_requested()) return;  // All have ended: nothing is left to cancel.
    try {
      run(options_->cancel_op);
    } catch (...) {
      log_warning(fmt::format("queue \"{}\": cancelling failed: {}", options_->queue_name,
                              describe(std::current_exception())));
    }
  }

  // Throws the error if has_listener_; otherwise keeps and logs it.
  void report(const std::exception_ptr& error) {
    if (stop_requested() && has_code(error, std::array{Code::kCancelled}))
      return;  // Cancelled by the stop.
    if (options_->on_error) options_->on_error(error);
    {
      const std::lock_guard lock(mutex_);
      if (!first_error_) first_error_ = error;
      if (!has_listener_) errors_.push_back(error);
    }
    changed_.notify_all();
    if (has_listener_) std::rethrow_exception(error);
    log_error(fmt::format("queue \"{}\": {}", options_->queue_name, describe(error)));
  }

 private:
  const std::shared_ptr<const QueueRunnerOptions> options_;
  Session& session_;
  const bool has_listener_;  // A coordinator receives the errors.
  const std::stop_token stop_;

  mutable std::mutex mutex_;  // Guards what follows.
  mutable std::condition_variable_any changed_;
  size_t num_live_;     // Enqueue operations that have not ended.
  size_t num_waiting_;  // Enqueue operations that have not run yet.
  std::exception_ptr first_error_;
  std::vector<std::exception_ptr> errors_;  // Reported without a listener.
};

// One enqueue operation. It counts as ended when this is destroyed, even if it never ran.
class QueueRunner::Feeder {
 public:
  Feeder(std::shared_ptr<Work> work, Output enqueue_op)
      : work_(std::move(work)), enqueue_op_(enqueue_op) {}
  ~Feeder() {
    record_first_run();
    count_down();
  }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  void run() {
    try {
      while (!work_->stop_requested()) {
        work_->run(enqueue_op_);
        record_first_run();
      }
    } catch (...) {
      const std::exception_ptr error = std::current_exception();
      if (!work_->is_closed_error(error)) return work_->report(error);
      if (count_down()) work_->close();
    }
  }

 private:
  void record_first_run() {
    if (!std::exchange(has_run_, true)) work_->record_first_run();
  }
  bool count_down() { return !std::exchange(is_over_, true) && work_->count_down(); }

  const std::shared_ptr<Work> work_;
  const Output enqueue_op_;
  bool has_run_ = false;
  bool is_over_ = false;
};

QueueRunner::QueueRunner(QueueRunnerOptions options)
    : options_(std::make_shared<const QueueRunnerOptions>(std::move(options))) {
  check(*options_);
}

QueueRunner::~QueueRunner() = default;

std::vector<BackgroundTask> QueueRunner::tasks(Session& session, std::stop_token stop) {
  std::vector<std::shared_ptr<Work>> former;  // Holds user objects: destroyed without the mutex.
  const std::lock_guard lock(mutex_);
  former = works_;
  std::erase_if(works_, [](const auto& work) { return !work->is_live(); });
  if (std::ranges::any_of(works_, [&](const auto& work) { return work->is_for(session); }))
    return {};
  const bool can_stop = stop.stop_possible();
  const auto work = std::make_shared<Work>(options_, session, std::move(stop));
  const auto named = [this](const std::string& part) {
    return fmt::format("QueueRunnerThread-{}-{}", options_->queue_name, part);
  };
  std::vector<BackgroundTask> tasks;
  for (const Output& op : options_->enqueue_ops)
    tasks.push_back({named(op.operation()->name),
                     [feeder = std::make_shared<Feeder>(work, op)] { feeder->run(); }});
  if (options_->cancel_op && can_stop)
    tasks.push_back({named("close_on_stop"), [work] { work->cancel_on_stop(); }});
  works_.push_back(work);
  return tasks;
}

std::vector<std::exception_ptr> QueueRunner::exceptions_raised() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::exception_ptr> all;
  for (const auto& work : works_)
    for (const std::exception_ptr& error : work->errors()) all.push_back(error);
  return all;
}

void QueueRunner::wait_for_first_runs(const Session& session,
                                      std::chrono::nanoseconds timeout) const {
  std::shared_ptr<Work> work;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        works_, [&](const auto& candidate) { return candidate->is_for(session); });
    if (found == works_.end())
      throw FailedPreconditionError(fmt::format(
          "queue \"{}\": no threads were created for this session", options_->queue_name));
    work = *found;
  }
  work->wait_for_first_runs(timeout);
}

}  // namespace crochet::inline v0
