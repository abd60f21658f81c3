// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/base/export.h"
#include "crochet/base/internal/no_options.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/ranks/stop_request.h"

namespace crochet::inline v0 {

class CoordinatedThread;

using CoordinatedThreads = std::vector<std::shared_ptr<CoordinatedThread>>;

struct CoordinatorOptions {
  // A thread's error with one of these codes requests a clean stop. Empty: no error does, as in a
  // monitored session.
  std::vector<Code> clean_stop_codes = {Code::kOutOfRange};
  // Measures the grace period; Clock::real() if null. Not owned.
  Clock* clock = nullptr;
};

struct JoinOptions {
  // How long threads may keep running after a stop is requested.
  double stop_grace_period_secs = 120;
  // True: threads that run longer cause a warning, not an error.
  bool ignore_live_threads = false;
};

// Stops the threads of one session together: each may request a stop, each checks
// whether one was requested, and the first error is kept for the thread that joins.
//
//   auto reader = coordinator.start_thread("reader", [&] {
//     while (!coordinator.should_stop()) queue.push(read_batch());
//   });
//   ...
//   coordinator.request_stop({"the program", "it has seen enough"});
//   coordinator.join();
//
// A straggler, a thread still running after the grace period, is named by join() and
// stays registered: the coordinator's destructor waits until all threads registered with
// it have ended, however long that takes, so none outlives what it uses. A thread
// that blocks on something must therefore also wait for the stop: see stop_token().
//
// In a forked child it has no threads and no requested stop: nothing waits for threads that the
// child does not have.
//
// Thread-safe, except for the destructor.
class CROCHET_EXPORT Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options = {});
  explicit Coordinator(internal::NoOptions) : Coordinator() {}
  // Requests a stop and waits for all registered threads.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Requests a clean stop. The first request wins.
  void request_stop(StopRequest request);
  // Requests a stop because of an error, which join() and raise_requested_exception() will
  // throw, or a clean stop if its code is one of clean_stop_codes. After another request the
  // error is only logged. Throws: the error itself if the threads have already been joined, since
  // it would otherwise be lost.
  void request_stop(std::exception_ptr error);
  // Calls `body`; if it throws, requests a stop because of that error.
  // Throws: that error if the threads have already been joined.
  void stop_on_exception(const std::function<void()>& body);

  bool should_stop() const;
  // Waits until a stop is requested.
  void wait_for_stop() const;
  // The same, for at most `timeout`; true if a stop was requested.
  bool wait_for_stop(std::chrono::nanoseconds timeout) const;
  // For waits that the stop should cut short. clear_stop() replaces it with a new one.
  std::stop_token stop_token() const;
  // Set once a clean stop was requested.
  std::optional<StopRequest> stop_request() const;
  // Throws the error that stopped the threads, if an error did.
  void raise_requested_exception() const;
  // Forgets the stop, its error, and the join.
  void clear_stop();

  // Makes join() wait for this thread. Throws: InvalidArgumentError for null.
  void register_thread(std::shared_ptr<CoordinatedThread> thread);
  // Starts a registered thread that runs `body` as stop_on_exception does; an error after
  // the join is logged. Requires: what the body uses outlives this.
  std::shared_ptr<CoordinatedThread> start_thread(std::string name, std::function<void()> body);

  // Waits for all registered threads and `threads`: until they have ended on their own or
  // a stop is requested, and then for the grace period. Does not request a stop itself.
  // Throws: the error that a thread reported; otherwise, unless ignore_live_threads is set,
  // FailedPreconditionError with the names of the threads that are still running;
  // InvalidArgumentError for a negative grace period.
  void join(const CoordinatedThreads& threads = {}, const JoinOptions& options = {});
  // True from join() to clear_stop().
  bool joined() const;

 private:
  // Unless a stop was requested before.
  void begin_stop(std::optional<StopRequest> request);
  // Waits up to the grace period; returns the names of the threads still running.
  std::vector<std::string> wait_for(const CoordinatedThreads& threads,
                                    const JoinOptions& options) const;
  // `more` and the registered ones.
  CoordinatedThreads threads_to_join(const CoordinatedThreads& more) const;

  // Constant after construction.
  const std::vector<Code> clean_stop_codes_;
  Clock& clock_;

  struct State;
  mutable internal::PerProcess<State> state_;
};

}  // namespace crochet::inline v0
