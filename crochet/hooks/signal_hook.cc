// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/signal_hook.h"

#include <signal.h>

#include <cerrno>
#include <utility>

#include "crochet/base/internal/signal_request.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/internal/signal_handlers.h"

namespace crochet::inline v0 {
namespace {

extern "C" void crochet_handle_signal(int signal) {
  const int saved_errno = errno;
  if (internal::record_signal(signal)) {
    // The signal is blocked while this runs: its default action follows on return.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  errno = saved_errno;
}

}  // namespace

SignalHook::SignalHook(std::vector<int> signals) : signals_(std::move(signals)) {
  internal::check_signals("SignalHook", signals_);
}

SignalHook::~SignalHook() = default;
SignalHook::SignalHook(SignalHook&&) noexcept = default;

void SignalHook::begin(Graph&) {
  handlers_ = std::make_shared<internal::SignalHandlers>(signals_, crochet_handle_signal);
}

void SignalHook::after_create_session(Session&, Coordinator& coordinator) {
  if (const int signal = pending_signal(); signal != 0)
    coordinator.request_stop({"SignalHook", signal_name(signal), signal});
}

void SignalHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  if (const int signal = pending_signal(); signal != 0)
    context.request_stop(signal_name(signal), signal);
}

void SignalHook::end(Session&) { handlers_.reset(); }
void SignalHook::on_error(std::exception_ptr) { handlers_.reset(); }

}  // namespace crochet::inline v0
