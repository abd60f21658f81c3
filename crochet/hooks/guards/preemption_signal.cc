// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <csignal>

#include <fmt/format.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/guards/preemption_hook.h"
#include "crochet/hooks/internal/signal_handlers.h"

namespace crochet::inline v0 {
namespace {

// Lock-free, for the handler. By signal, since there may be several sources.
std::array<std::atomic<bool>, NSIG> has_arrived = {};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void crochet_note_preemption(int signal) {
  has_arrived[static_cast<size_t>(signal)].store(true);
}

class PreemptionSignal final : public PreemptionSource {
 public:
  PreemptionSignal(int signal, double grace_secs, Clock& clock)
      : signal_(signal), grace_secs_(grace_secs), clock_(clock), handlers_(checked(signal)) {
    internal::check_at_least("preemption_signal: grace_secs", grace_secs, 0);
  }

  std::optional<PreemptionNotice> wait(const std::stop_token& stop) override {
    for (; !stop.stop_requested(); clock_.sleep_for(kSignalSlice, stop))
      if (has_arrived[static_cast<size_t>(signal_)].exchange(false))
        return PreemptionNotice{
            fmt::format("{} announces the end of the process", signal_name(signal_)),
            clock_.wall_time() + grace_secs_};
    return std::nullopt;
  }

 private:
  static internal::SignalHandlers checked(int signal) {
    internal::check_signals("preemption_signal", {signal});
    has_arrived[static_cast<size_t>(signal)] = false;
    return internal::SignalHandlers({signal}, crochet_note_preemption);
  }

  const int signal_;
  const double grace_secs_;
  Clock& clock_;
  const internal::SignalHandlers handlers_;
};

}  // namespace

std::shared_ptr<PreemptionSource> preemption_signal(int signal, double grace_secs, Clock* clock) {
  return std::make_shared<PreemptionSignal>(signal, grace_secs, Clock::or_real(clock));
}

}  // namespace crochet::inline v0
