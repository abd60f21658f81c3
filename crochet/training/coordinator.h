// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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
#include "crochet/base/internal/export.h"
#include "crochet/base/internal/no_options.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/internal/thread.h"
#include "crochet/ranks/ranks.h"
#include "crochet/session/graph.h"
#include "crochet/session/queue_runner.h"
#include "crochet/session/session.h"

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

// A named thread that can be asked whether it has ended.
//
// It is never detached: the destructor waits for it, however long that takes, so
// what the body uses need only outlive this object. Most threads of a session are best
// started with Coordinator::start_thread, which also handles their errors.
//
// In a forked child, where the thread does not exist, it counts as ended.
//
// Thread-safe.
class CROCHET_EXPORT CoordinatedThread {
 public:
  // Runs `body` at once. As with std::thread, an exception that escapes it ends the process.
  // Throws: ResourceExhaustedError if the system cannot start a thread.
  CoordinatedThread(std::string name, std::function<void()> body);
  // Waits until the body has returned. Must not be called from the body.
  ~CoordinatedThread();
  CoordinatedThread(const CoordinatedThread&) = delete;
  CoordinatedThread& operator=(const CoordinatedThread&) = delete;

  const std::string& name() const { return name_; }
  bool has_ended() const { return has_ended_ || !signal_.is_here(); }
  // A stop is requested on it once the thread has ended, for sleeps that should end with the
  // thread. Stop callbacks registered on it run without a mutex held.
  std::stop_token end_token() const { return ended_.get_token(); }
  // Waits until it has ended or `stop` is requested; true if it has ended.
  bool wait(const std::stop_token& stop = {}) const;

 private:
  void run(std::function<void()> body);

  const std::string name_;
  std::stop_source ended_;
  std::atomic<bool> has_ended_ = false;  // Set under the signal's mutex.
  struct Signal;
  const internal::ProcessBound<Signal> signal_;

  internal::Thread thread_;  // Last: joins before what it uses is gone.
};

struct LooperThreadOptions {
  std::string name = "LooperThread";
  // The time from one call to the next; unset or 0: back to back.
  std::optional<double> timer_interval_secs = {};
  // Called on the thread before the first call and, unless a call threw, after the last.
  std::function<void()> start_loop = {};
  std::function<void()> stop_loop = {};
  // Clock::real() if null. Not owned; must outlive the thread.
  Clock* clock = nullptr;
};

// Starts a thread, registered with the coordinator, that calls `target` until a stop is
// requested: at once, and then at fixed boundaries, so that the time taken by calls does not add
// up. Overdue calls are made back to back; none is skipped. An error ends the thread and stops
// the others.
//
//   auto looper = start_looper_thread(coordinator, {.timer_interval_secs = 60},
//                                     [&] { write_report(); });
//
// Requires: what `target` uses outlives the coordinator.
// Throws: InvalidArgumentError for an empty target or a negative interval.
CROCHET_EXPORT std::shared_ptr<CoordinatedThread> start_looper_thread(Coordinator& coordinator,
                                                                      LooperThreadOptions options,
                                                                      std::function<void()> target);

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
