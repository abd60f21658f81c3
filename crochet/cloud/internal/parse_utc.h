// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace crochet::inline v0::cloud::internal {

// Seconds since 1970-01-01 UTC of "2026-11-29T15:00:00Z", "2026-11-29T15:00:00.000Z" or "Sun, 29
// Nov 2026 15:00:00 GMT". Unset for any other text.
std::optional<double> parse_utc(const std::string& text);

}  // namespace crochet::inline v0::cloud::internal
