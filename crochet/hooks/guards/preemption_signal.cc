// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <fmt/format.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/guards/preemption_hook.h"
#include "crochet/hooks/internal/signal_handlers.h"

namespace crochet::inline v0 {
namespace {

class PreemptionSignal final : public PreemptionSource {
 public:
  PreemptionSignal(int signal, double grace_secs, Clock& clock)
      : signal_(signal), grace_secs_(grace_secs), clock_(clock), handlers_(checked(signal)) {
    internal::check_at_least("preemption_signal: grace_secs", grace_secs, 0);
  }

  std::optional<PreemptionNotice> wait(const std::stop_token& stop) override {
    for (; !stop.stop_requested(); clock_.sleep_for(kSignalSlice, stop))
      if (internal::SignalHandlers::take(signal_))
        return PreemptionNotice{
            fmt::format("{} announces the end of the process", signal_name(signal_)),
            clock_.wall_time() + grace_secs_};
    return std::nullopt;
  }

 private:
  static std::vector<int> checked(int signal) {
    internal::check_signals("preemption_signal", {signal});
    return {signal};
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
