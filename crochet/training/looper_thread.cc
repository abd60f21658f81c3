// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/internal/check_number.h"
#include "crochet/training/coordinator.h"

namespace crochet::inline v0 {
namespace {

// With an interval of zero: back to back.
void call_at_boundaries(const Coordinator& coordinator, Clock& clock, Clock::Duration interval,
                        const std::function<void()>& target) {
  const std::stop_token stop = coordinator.stop_token();
  Clock::TimePoint next = clock.now();
  while (!stop.stop_requested()) {
    if (const Clock::Duration left = next - clock.now(); left > left.zero())
      if (!clock.sleep_for(left, stop)) return;
    next += interval;
    target();
  }
}

}  // namespace

std::shared_ptr<CoordinatedThread> start_looper_thread(Coordinator& coordinator,
                                                       LooperThreadOptions options,
                                                       std::function<void()> target) {
  const double secs = options.timer_interval_secs.value_or(0);
  internal::check_at_least("timer_interval_secs", secs, 0);
  if (!target) throw InvalidArgumentError(fmt::format("{}: the target is empty", options.name));
  const std::string name = options.name;
  return coordinator.start_thread(
      name, [&coordinator, secs, options = std::move(options), target = std::move(target)] {
        if (options.start_loop) options.start_loop();
        Clock& clock = Clock::or_real(options.clock);
        call_at_boundaries(coordinator, clock, from_seconds(secs), target);
        if (options.stop_loop) options.stop_loop();
      });
}

}  // namespace crochet::inline v0
