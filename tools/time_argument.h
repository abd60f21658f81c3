// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace crochet::tool {

// Seconds in "90", "90s", "30m", "2h", "1.5h" or "1d". Throws: InvalidArgumentError.
double parse_duration(const std::string& text);

// Seconds since 1970-01-01 UTC of a local time "2026-12-01 08:00" or "2026-12-01T08:00:30", or of
// the next "08:00" after `now`. Throws: InvalidArgumentError, also for a time that is over.
double parse_time(const std::string& text, double now);

}  // namespace crochet::tool
