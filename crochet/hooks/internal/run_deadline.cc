// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/run_deadline.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/hooks/internal/utc_text.h"

namespace crochet::inline v0::internal {
namespace {

// A save is not always as fast as the slowest before it.
constexpr double kReserve = 1.5;
// After 10 calls, an exceptional one counts a third.
constexpr double kDecay = 0.9;

}  // namespace

RunDeadline::RunDeadline(double at, std::function<SaveStatistics()> saves, Clock& clock)
    : at_(at), saves_(std::move(saves)), clock_(&clock) {}

void RunDeadline::measure() {
  const Clock::TimePoint now = clock_->now();
  if (last_call_) call_secs_ = std::max(to_seconds(now - *last_call_), kDecay * call_secs_);
  last_call_ = now;
  if (!saves_) return;
  const SaveStatistics saves = saves_();
  const int64_t more = saves.saved - last_saves_.saved;
  if (more == 0) return;
  save_secs_ = std::max(
      save_secs_, (saves.published_secs - last_saves_.published_secs) / static_cast<double>(more));
  last_saves_ = saves;
}

std::optional<std::string> RunDeadline::reached() {
  measure();
  if (clock_->wall_time() + kReserve * save_secs_ + call_secs_ < at_) return std::nullopt;
  return fmt::format(
      "the deadline is {}, a save takes up to {:.1f} s, and a step may take {:.1f} s",
      utc_text(at_), save_secs_, call_secs_);
}

std::optional<double> slurm_end_time() {
  const char* const value = std::getenv("SLURM_JOB_END_TIME");
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string_view text = value;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr int64_t kYear9999 = 253'402'300'800;
  if (error == std::errc() && end == text.data() + text.size() && seconds > 0 &&
      seconds < kYear9999)
    return static_cast<double>(seconds);
  log_warning(fmt::format(
      "SLURM_JOB_END_TIME is \"{}\", expected seconds since 1970: the run does not heed it", text));
  return std::nullopt;
}

}  // namespace crochet::inline v0::internal
