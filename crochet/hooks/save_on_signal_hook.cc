// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "crochet/base/pending_signal.h"
#include "crochet/hooks/internal/signal_handlers.h"
#include "crochet/hooks/signal_hook.h"

namespace crochet::inline v0 {
SaveOnSignalHook::SaveOnSignalHook(std::vector<int> signals) : signals_(std::move(signals)) {
  internal::check_signals("SaveOnSignalHook", signals_);
}

SaveOnSignalHook::~SaveOnSignalHook() = default;
SaveOnSignalHook::SaveOnSignalHook(SaveOnSignalHook&&) noexcept = default;

void SaveOnSignalHook::begin(Graph&) {
  handlers_ = std::make_shared<internal::SignalHandlers>(signals_);
}

void SaveOnSignalHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  for (const int signal : signals_)
    if (internal::SignalHandlers::take(signal)) context.request_save(signal_name(signal));
}

void SaveOnSignalHook::end(Session&) { handlers_.reset(); }
void SaveOnSignalHook::on_error(std::exception_ptr) { handlers_.reset(); }

}  // namespace crochet::inline v0
