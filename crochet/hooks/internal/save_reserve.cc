// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/save_reserve.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace crochet::inline v0::internal {
namespace {

// A save is not always as fast as the slowest before it.
constexpr double kReserve = 1.5;
// Of a save, before the first one has ended.
constexpr double kUnknownSecs = 60;

}  // namespace

void SaveReserve::measure(const SaveStatistics& saves) {
  const int64_t more = saves.saved - last_saves_.saved;
  if (more == 0) return;
  save_secs_ = std::max(
      save_secs_, (saves.published_secs - last_saves_.published_secs) / static_cast<double>(more));
  last_saves_ = saves;
}

// If the step is saved now, it can as well be the last one: it is not risked to train on. Otherwise
// a save that takes more than half of the time could not be followed by another one.
double SaveReserve::unknown_secs(double left, bool saves_now) {
  if (!first_left_) first_left_ = left;
  return saves_now ? 2 * kUnknownSecs : std::min(kUnknownSecs, *first_left_ / 2);
}

std::optional<std::string> SaveReserve::reason_to_stop(const StopBefore& stop,
                                                       const SaveStatistics& saves, bool is_saving,
                                                       bool saves_now, int runs,
                                                       const Clock& clock) {
  measure(saves);
  const double left = stop.time - clock.wall_time();
  const bool is_known = saves.saved > 0;
  const int saves_ahead = (is_saving ? 1 : 0) + (saves_now ? 1 : 0);
  const double secs =
      is_known ? (kReserve + saves_ahead) * save_secs_ : unknown_secs(left, saves_now);
  if (secs + runs * stop.run_secs < left) return std::nullopt;
  if (!is_known) return fmt::format("no save has ended so far, and {:.1f} s are left", left);
  return fmt::format("a save takes up to {:.1f} s, and a step may take {:.1f} s", save_secs_,
                     stop.run_secs);
}

}  // namespace crochet::inline v0::internal
