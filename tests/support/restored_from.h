// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <gmock/gmock.h>

#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet::inline v0 {

// For what Saver::restore_newest returns.
inline std::optional<std::string> restored_prefix(const std::optional<RestoreReport>& report) {
  return report ? std::optional(report->prefix) : std::nullopt;
}
MATCHER_P(RestoredFrom, prefix, "") { return arg && arg->prefix == prefix; }

}  // namespace crochet::inline v0
