// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/coordinator.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/internal/caught.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/log.h"

namespace crochet::inline v0 {

struct Coordinator::State {
  std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::atomic<bool> stopped = false;  // Changed under the mutex, read without, in every step.
  bool joined = false;
  std::optional<StopRequest> request;
  std::exception_ptr error;
  std::stop_source stop_source;
  CoordinatedThreads threads;  // Registered, until they are joined.
};

Coordinator::Coordinator(CoordinatorOptions options)
    : clean_stop_codes_(std::move(options.clean_stop_codes)),
      clock_(Clock::or_real(options.clock)) {}

Coordinator::~Coordinator() {
  begin_stop(std::nullopt);
  CoordinatedThreads threads;
  {
    const std::lock_guard lock(state_->mutex);
    threads.swap(state_->threads);
  }
  for (const auto& thread : threads) {
    if (thread->has_ended()) continue;
    internal::log_lazily(Severity::kWarning, [&] {
      return fmt::format("waiting for thread \"{}\" to end", thread->name());
    });
    thread->wait();
  }
}

void Coordinator::request_stop(StopRequest request) { begin_stop(std::move(request)); }

void Coordinator::begin_stop(std::optional<StopRequest> request) {
  std::optional<std::stop_source> stop_source;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopped) return;
    state_->stopped = true;
    state_->request = std::move(request);
    stop_source = state_->stop_source;
  }
  state_->changed.notify_all();
  stop_source->request_stop();  // Runs callbacks of others: not under the mutex.
}

void Coordinator::request_stop(std::exception_ptr error) {
  if (has_code(error, clean_stop_codes_))
    return request_stop(StopRequest{"a thread", describe(error)});
  std::optional<std::stop_source> stop_source;  // Unset: a stop was already requested.
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->joined) std::rethrow_exception(error);
    if (!state_->stopped) {
      state_->error = error;
      state_->stopped = true;
      stop_source = state_->stop_source;
    }
  }
  if (!stop_source) {
    log_warning(fmt::format("error after the stop was requested: {}", describe(error)));
    return;
  }
  log_error(fmt::format("a thread of the session reported an error: {}", describe(error)));
  state_->changed.notify_all();
  stop_source->request_stop();
}

void Coordinator::stop_on_exception(const std::function<void()>& body) {
  try {
    body();
  } catch (...) {
    request_stop(internal::caught());
  }
}

bool Coordinator::should_stop() const { return state_->stopped; }

void Coordinator::wait_for_stop() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return should_stop(); });
}

bool Coordinator::wait_for_stop(std::chrono::nanoseconds timeout) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, timeout, [this] { return should_stop(); });
}

std::stop_token Coordinator::stop_token() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stop_source.get_token();
}

std::optional<StopRequest> Coordinator::stop_request() const {
  const std::lock_guard lock(state_->mutex);
  return state_->request;
}

void Coordinator::raise_requested_exception() const {
  std::exception_ptr error;
  {
    const std::lock_guard lock(state_->mutex);
    error = state_->error;
  }
  if (error) std::rethrow_exception(error);
}

void Coordinator::clear_stop() {
  std::exception_ptr error;  // A user's object: destroyed after the mutex is released.
  const std::lock_guard lock(state_->mutex);
  state_->stopped = state_->joined = false;
  state_->request.reset();
  error = std::exchange(state_->error, nullptr);
  state_->stop_source = {};
}

void Coordinator::register_thread(std::shared_ptr<CoordinatedThread> thread) {
  if (!thread) throw InvalidArgumentError("the thread to register is a null pointer");
  const std::lock_guard lock(state_->mutex);
  state_->threads.push_back(std::move(thread));
}

std::shared_ptr<CoordinatedThread> Coordinator::start_thread(std::string name,
                                                             std::function<void()> body) {
  auto guarded = [this, name, body = std::move(body)] {
    try {
      stop_on_exception(body);
    } catch (...) {
      log_error(fmt::format("thread \"{}\", error after the join: {}", name,
                            describe(std::current_exception())));
    }
  };
  auto thread = std::make_shared<CoordinatedThread>(std::move(name), std::move(guarded));
  register_thread(thread);
  return thread;
}

void Coordinator::join(const CoordinatedThreads& threads, const JoinOptions& options) {
  internal::check_at_least("stop_grace_period_secs", options.stop_grace_period_secs, 0);
  const std::vector<std::string> stragglers = wait_for(threads_to_join(threads), options);
  {
    CoordinatedThreads former;  // Users' objects in them are destroyed without the mutex.
    const std::lock_guard lock(state_->mutex);
    state_->joined = true;
    former = state_->threads;
    std::erase_if(state_->threads, [](const auto& thread) { return thread->has_ended(); });
  }
  if (!stragglers.empty())
    log_warning(
        fmt::format("threads still running after the stop: {}", fmt::join(stragglers, ", ")));
  raise_requested_exception();
  if (!stragglers.empty() && !options.ignore_live_threads)
    throw FailedPreconditionError(
        fmt::format("threads still running after a grace period of {} s: {}",
                    options.stop_grace_period_secs, fmt::join(stragglers, ", ")));
}

bool Coordinator::joined() const {
  const std::lock_guard lock(state_->mutex);
  return state_->joined;
}

CoordinatedThreads Coordinator::threads_to_join(const CoordinatedThreads& more) const {
  CoordinatedThreads threads = more;
  const std::lock_guard lock(state_->mutex);
  threads.insert(threads.end(), state_->threads.begin(), state_->threads.end());
  return threads;
}

std::vector<std::string> Coordinator::wait_for(const CoordinatedThreads& threads,
                                               const JoinOptions& options) const {
  const std::stop_token stop = stop_token();
  for (const auto& thread : threads) thread->wait(stop);
  const Clock::TimePoint deadline = clock_.now() + from_seconds(options.stop_grace_period_secs);
  std::vector<std::string> stragglers;
  for (const auto& thread : threads) {
    if (thread->has_ended()) continue;
    // Sleeps until the thread ends, but no longer than `left`.
    if (const Clock::Duration left = deadline - clock_.now(); left > left.zero())
      clock_.sleep_for(left, thread->end_token());
    if (!thread->has_ended()) stragglers.push_back(thread->name());
  }
  return stragglers;
}

}  // namespace crochet::inline v0
