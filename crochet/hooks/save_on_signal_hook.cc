// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <utility>

#include "crochet/base/pending_signal.h"
#include "crochet/hooks/internal/signal_handlers.h"
#include "crochet/hooks/signal_hook.h"

namespace crochet::inline v0 {
namespace {

// The signals that arrived since the last save that they made. Lock-free, for the handler.
std::array<std::atomic<bool>, NSIG> arrived_signals = {};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void crochet_note_signal(int signal) {
  arrived_signals[static_cast<size_t>(signal)].store(true);
}

}  // namespace

SaveOnSignalHook::SaveOnSignalHook(std::vector<int> signals) : signals_(std::move(signals)) {
  internal::check_signals("SaveOnSignalHook", signals_);
}

SaveOnSignalHook::~SaveOnSignalHook() = default;
SaveOnSignalHook::SaveOnSignalHook(SaveOnSignalHook&&) noexcept = default;

void SaveOnSignalHook::begin(Graph&) {
  auto handlers = std::make_shared<internal::SignalHandlers>(signals_, crochet_note_signal);
  for (const int signal : signals_) arrived_signals[static_cast<size_t>(signal)] = false;
  handlers_ = std::move(handlers);
}

void SaveOnSignalHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  for (const int signal : signals_)
    if (arrived_signals[static_cast<size_t>(signal)].load(std::memory_order_relaxed) &&
        arrived_signals[static_cast<size_t>(signal)].exchange(false))
      context.request_save(signal_name(signal));
}

void SaveOnSignalHook::end(Session&) { handlers_.reset(); }
void SaveOnSignalHook::on_error(std::exception_ptr) { handlers_.reset(); }

}  // namespace crochet::inline v0
