// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/signal_hook.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"

namespace crochet::inline v0 {
namespace {

// The signals that a SignalHook handles now.
std::array<std::atomic<bool>, NSIG> handled_signals = {};

extern "C" void crochet_handle_signal(int signal) {
  const int saved_errno = errno;
  if (pending_signal() == 0) {
    set_pending_signal(signal);
  } else {
    // The signal is blocked while this runs: its default action follows on return.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  errno = saved_errno;
}

bool can_be_handled(int signal) {
  // sigaction rejects those that the threads library reserves.
  struct sigaction present = {};
  return signal > 0 && signal < NSIG && signal != SIGKILL && signal != SIGSTOP &&
         ::sigaction(signal, nullptr, &present) == 0;
}

}  // namespace

// The handlers while they are installed.
class SignalHook::Installation {
 public:
  Installation() = default;
  ~Installation() {
    for (const auto& [signal, action] : previous_) {
      ::sigaction(signal, &action, nullptr);
      handled_signals[static_cast<size_t>(signal)] = false;
    }
  }
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;

  void add(int signal) {
    if (handled_signals[static_cast<size_t>(signal)].exchange(true))
      throw FailedPreconditionError(
          fmt::format("{} is handled by another SignalHook", signal_name(signal)));
    struct sigaction action = {};
    action.sa_handler = crochet_handle_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    struct sigaction previous = {};
    ::sigaction(signal, &action, &previous);
    previous_.emplace_back(signal, previous);
  }

 private:
  std::vector<std::pair<int, struct sigaction>> previous_;
};

SignalHook::SignalHook(std::vector<int> signals) : signals_(std::move(signals)) {
  if (signals_.empty()) throw InvalidArgumentError("SignalHook: no signal was given");
  for (const int signal : signals_)
    if (!can_be_handled(signal))
      throw InvalidArgumentError(
          fmt::format("SignalHook: {} cannot be handled", signal_name(signal)));
}

SignalHook::~SignalHook() = default;
SignalHook::SignalHook(SignalHook&&) noexcept = default;

void SignalHook::begin(Graph&) {
  auto installation = std::make_unique<Installation>();
  for (const int signal : signals_) installation->add(signal);
  installation_ = std::move(installation);
}

void SignalHook::after_create_session(Session&, Coordinator& coordinator) {
  if (const int signal = pending_signal(); signal != 0)
    coordinator.request_stop({"SignalHook", signal_name(signal), signal});
}

void SignalHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (const int signal = pending_signal(); signal != 0)
    context.request_stop(signal_name(signal), signal);
}

void SignalHook::end(Session&) { installation_.reset(); }
void SignalHook::on_error(std::exception_ptr) { installation_.reset(); }

}  // namespace crochet::inline v0
