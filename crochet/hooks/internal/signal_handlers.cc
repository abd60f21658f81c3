// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/signal_handlers.h"

#include <array>
#include <atomic>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet::inline v0::internal {
namespace {

// The signals that are handled now.
std::array<std::atomic<bool>, NSIG> handled_signals = {};
// Those that were noted. Lock-free, for the handler.
std::array<std::atomic<bool>, NSIG> noted_signals = {};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void crochet_note_signal(int signal) {
  noted_signals[static_cast<size_t>(signal)].store(true);
}

bool can_be_handled(int signal) {
  // sigaction rejects those that the threads library reserves.
  struct sigaction present = {};
  return signal > 0 && signal < NSIG && signal != SIGKILL && signal != SIGSTOP &&
         ::sigaction(signal, nullptr, &present) == 0;
}

}  // namespace

void check_signals(const char* hook, const std::vector<int>& signals) {
  if (signals.empty()) throw InvalidArgumentError(fmt::format("{}: no signal was given", hook));
  for (const int signal : signals)
    if (!can_be_handled(signal))
      throw InvalidArgumentError(
          fmt::format("{}: {} cannot be handled", hook, signal_name(signal)));
}

SignalHandlers::SignalHandlers(const std::vector<int>& signals, void (*handler)(int)) {
  try {
    for (const int signal : signals) add(signal, handler);
  } catch (...) {
    restore();
    throw;
  }
}

SignalHandlers::SignalHandlers(const std::vector<int>& signals)
    : SignalHandlers(signals, crochet_note_signal) {}

SignalHandlers::~SignalHandlers() { restore(); }

bool SignalHandlers::take(int signal) noexcept {
  std::atomic<bool>& noted = noted_signals[static_cast<size_t>(signal)];
  return noted.load(std::memory_order_relaxed) && noted.exchange(false);
}

void SignalHandlers::add(int signal, void (*handler)(int)) {
  struct sigaction present = {};
  ::sigaction(signal, nullptr, &present);
  if (present.sa_handler == SIG_IGN) {
    log_info(fmt::format("{} stays ignored, as the process was started", signal_name(signal)));
    return;
  }
  previous_.reserve(previous_.size() + 1);  // What is changed from here on, restore() undoes.
  if (handled_signals[static_cast<size_t>(signal)].exchange(true))
    throw FailedPreconditionError(
        fmt::format("{} is handled by another hook for signals", signal_name(signal)));
  noted_signals[static_cast<size_t>(signal)] = false;
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  struct sigaction previous = {};
  ::sigaction(signal, &action, &previous);
  previous_.emplace_back(signal, previous);
}

void SignalHandlers::restore() {
  for (const auto& [signal, action] : previous_) {
    ::sigaction(signal, &action, nullptr);
    handled_signals[static_cast<size_t>(signal)] = false;
  }
}

}  // namespace crochet::inline v0::internal
