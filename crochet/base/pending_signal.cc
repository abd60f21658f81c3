// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/pending_signal.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/signal_request.h"
#include "crochet/base/log.h"

namespace crochet::inline v0 {
namespace {

std::atomic<int> the_pending_signal = 0;
// Time of the steady clock, which a signal handler may read.
std::atomic<int64_t> the_signals_nanoseconds = 0;
// The last request: its signal, its time, and how many there were.
std::atomic<int> the_last_request = 0;
std::atomic<int64_t> the_last_requests_nanoseconds = 0;
std::atomic<int> num_requests = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

int64_t nanoseconds_now() noexcept {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A person at a terminal sends these.
bool is_of_a_person(int signal) { return signal == SIGINT || signal == SIGQUIT; }

void begin_request(int signal, int64_t nanoseconds) noexcept {
  the_signals_nanoseconds.store(nanoseconds);
  the_last_requests_nanoseconds.store(nanoseconds);
  the_last_request.store(signal);
  num_requests.store(1);
}

}  // namespace

int pending_signal() noexcept { return the_pending_signal.load(std::memory_order_relaxed); }

void set_pending_signal(int signal) noexcept {
  if (pending_signal() == 0) begin_request(signal, nanoseconds_now());
  the_pending_signal.store(signal);
}

bool internal::record_signal(int signal) noexcept {
  return record_signal_at(signal, nanoseconds_now());
}

bool internal::record_signal_at(int signal, int64_t nanoseconds) noexcept {
  if (pending_signal() == 0) {
    begin_request(signal, nanoseconds);
    the_pending_signal.store(signal);
    return false;
  }
  constexpr int64_t kOne = std::chrono::nanoseconds(kOneRequest).count();
  if (nanoseconds - the_last_requests_nanoseconds.load() <= kOne) return false;
  the_last_requests_nanoseconds.store(nanoseconds);
  const bool is_same = the_last_request.exchange(signal) == signal;
  return ++num_requests >= 3 || (is_same && is_of_a_person(signal));
}

Clock::Duration pending_signal_age() noexcept {
  if (the_pending_signal.load() == 0) return Clock::Duration::zero();
  return Clock::Duration(nanoseconds_now() - the_signals_nanoseconds.load());
}

void throw_if_signalled(const char* activity) {
  if (const int signal = pending_signal(); signal != 0)
    throw CancelledError(fmt::format("{} cut short by {}", activity, signal_name(signal)));
}

bool left_out_for_signal(const char* what) {
  const int signal = pending_signal();
  if (signal != 0) log_info(fmt::format("{} because of {}", what, signal_name(signal)));
  return signal != 0;
}

bool sleep_unless_signalled(Clock& clock, Clock::Duration duration, const std::stop_token& stop) {
  for (; duration > Clock::Duration::zero(); duration -= kSignalSlice)
    if (pending_signal() != 0 ||
        !clock.sleep_for(std::min<Clock::Duration>(duration, kSignalSlice), stop))
      return false;
  return pending_signal() == 0;
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace crochet::inline v0
