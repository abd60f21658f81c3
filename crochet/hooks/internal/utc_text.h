// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>

#include <fmt/chrono.h>

namespace crochet::inline v0::internal {

// "2026-11-28 06:30:00 UTC", from seconds since 1970-01-01 UTC. Requires: before the year 10000.
inline std::string utc_text(double unix_time) {
  return fmt::format("{:%F %T} UTC", fmt::gmtime(static_cast<std::time_t>(unix_time)));
}

}  // namespace crochet::inline v0::internal
