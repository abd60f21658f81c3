// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/signal_guard.h"

#include "crochet/base/pending_signal.h"

namespace crochet::tool {
namespace {

extern "C" void crochet_tool_note_signal(int signal) { set_pending_signal(signal); }

}  // namespace

SignalGuard::SignalGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &previous_[i]);
    if (previous_[i].sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = &crochet_tool_note_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

SignalGuard::~SignalGuard() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous_[i], nullptr);
}

}  // namespace crochet::tool
