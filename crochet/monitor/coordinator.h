// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/error.h"
#include "crochet/base/process_bound.h"
#include "crochet/monitor/coordinated_thread.h"
#include "crochet/monitor/stop_request.h"

namespace crochet {

using CoordinatedThreads = std::vector<std::shared_ptr<CoordinatedThread>>;

struct CoordinatorOptions {
  // A thread's error of one of these codes asks for a clean stop. Empty: none does; so it is
  // in a monitored session.
  std::vector<Code> clean_stop_codes = {Code::kOutOfRange};
  // Measures the grace period; the machine's if null. Not owned.
  Clock* clock = nullptr;
};

struct JoinOptions {
  // How long threads may go on once a stop was requested.
  double stop_grace_period_secs = 120;
  // True: those that go on all the same are a warning, not an error.
  bool ignore_live_threads = false;
};

// Brings the threads of one session to a common stop: each may ask for it, each
// looks whether somebody did, and the first error is kept for whoever joins.
//
//   auto reader = coordinator.start_thread("reader", [&] {
//     while (!coordinator.should_stop()) queue.push(read_batch());
//   });
//   ...
//   coordinator.request_stop({"the program", "it has seen enough"});
//   coordinator.join();
//
// A straggler, a thread that goes on after the grace period, is named by join() and
// stays registered: a coordinator waits in its destructor until all threads registered with
// it have ended, however long that takes, so none outlives what it uses. A thread
// that waits for something must therefore also wait for the stop: see stop_token().
//
// In a forked process it has neither threads nor a stop that was requested before: nothing waits
// for what that process does not have.
//
// Thread-safe, but for the destructor.
class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options = {});
  // Asks for a stop, and waits for all registered threads.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Asks for a clean stop. The first request counts.
  void request_stop(StopRequest request);
  // Asks for a stop because of an error, which join() and raise_requested_exception() will
  // throw; of a clean stop if its code says so. After another request it is only logged.
  // Throws: the error itself if the threads are joined already, as nobody else would hear of it.
  void request_stop(std::exception_ptr error);
  // Calls `body`, and asks for a stop because of what it throws, if anything.
  // Throws: that error if the threads are joined already.
  void stop_on_exception(const std::function<void()>& body);

  bool should_stop() const;
  // Waits until a stop is requested.
  void wait_for_stop() const;
  // The same, at most for `timeout`; true if a stop is requested.
  bool wait_for_stop(std::chrono::nanoseconds timeout) const;
  // Requested with the stop: for waits that it is to cut short. After clear_stop() a new one.
  std::stop_token stop_token() const;
  // Set once somebody asked for a clean stop.
  std::optional<StopRequest> stop_request() const;
  // Throws the error that stopped the threads, if it was one.
  void raise_requested_exception() const;
  // Forgets the stop, its error and that the threads were joined.
  void clear_stop();

  // Has join() wait for this thread. Throws: InvalidArgumentError for null.
  void register_thread(std::shared_ptr<CoordinatedThread> thread);
  // Starts a registered thread that runs `body` as stop_on_exception does; what it throws
  // after the join is logged. Requires: what the body uses outlives this.
  std::shared_ptr<CoordinatedThread> start_thread(std::string name, std::function<void()> body);

  // Waits for all registered threads and `threads`: until they have ended by themselves or
  // a stop is requested, and then for the grace period. It does not request a stop itself.
  // Throws: the error that a thread reported; else, unless they are to be ignored,
  // FailedPreconditionError with the names of the threads that are still running.
  // InvalidArgumentError for a negative grace period.
  void join(const CoordinatedThreads& threads = {}, const JoinOptions& options = {});
  // True from join() to clear_stop().
  bool joined() const;

 private:
  bool is_clean(const std::exception_ptr& error) const;
  // Waits for the grace period; returns the names of those that go on.
  std::vector<std::string> wait_for(const CoordinatedThreads& threads,
                                    const JoinOptions& options) const;
  // `more` and the registered ones.
  CoordinatedThreads threads_to_join(const CoordinatedThreads& more) const;

  // Constant after construction.
  const std::vector<Code> clean_stop_codes_;
  Clock& clock_;

  struct State {
    std::mutex mutex;  // Guards what follows.
    std::condition_variable changed;
    std::atomic<bool> stopped = false;  // Changed under the mutex, read without, in every step.
    bool joined = false;
    std::optional<StopRequest> request;
    std::exception_ptr error;
    std::stop_source stop_source;
    CoordinatedThreads threads;  // Registered, until they are joined.
  };
  mutable PerProcess<State> state_;
};

}  // namespace crochet
