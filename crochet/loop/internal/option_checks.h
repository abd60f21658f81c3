// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/loop/loop_options.h"

namespace crochet::inline v0::internal {

// Throws: InvalidArgumentError for options that are out of range or contradict each other, or that
// have no effect for want of a directory: a run of weeks would otherwise save nothing. It names
// each option by its path.
void check_options(const LoopOptions& options);

// Throws: InvalidArgumentError for an interval that is negative, or given in steps and seconds.
void check_interval(const std::string& steps_name, const std::optional<int64_t>& steps,
                    const std::string& secs_name, const std::optional<double>& secs);

// Throws: InvalidArgumentError for ranges; `path` is that of the options.
void check_options(const RankOptions& options, const std::string& path);

// Calls `check`. Throws: its InvalidArgumentError, after the path of the options that it checks.
template <typename Check>
void check_at(const char* path, const Check& check) {
  try {
    check();
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace crochet::inline v0::internal
