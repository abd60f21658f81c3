// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>

#include <fmt/chrono.h>

namespace crochet::inline v0::internal {

// The first time, in seconds since 1970-01-01 UTC, that is too late.
inline constexpr double kYear10000 = 253'402'300'800;

// "2026-11-28 06:30:00 UTC", from seconds since 1970-01-01 UTC; "an unknown time" for one before
// that, too late, or NaN.
inline std::string utc_text(double unix_time) {
  if (!(unix_time >= 0 && unix_time < kYear10000)) return "an unknown time";
  return fmt::format("{:%F %T} UTC", fmt::gmtime(static_cast<std::time_t>(unix_time)));
}

}  // namespace crochet::inline v0::internal
