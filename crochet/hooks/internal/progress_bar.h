// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// What a progress bar shows.
struct Progress {
  int64_t step = 0;
  std::optional<int64_t> last_step = {};
  std::vector<std::pair<std::string, std::string>> values = {};  // "loss" -> "0.0312".
  std::optional<double> steps_per_sec = {};
  int64_t num_warnings = 0;   // In the log: also of errors.
  std::string activity = {};  // What runs in the background: "saving step 200".
};

struct ProgressBarStyle {
  int width = 80;        // Columns that may be used.
  bool color = false;    // ANSI colours.
  bool unicode = false;  // Line characters rather than '#' and '-'.
};

// One line, never wider than the style allows; parts that do not fit are left out, the bar first:
//
//   62% ━━━━━━━━━━━━──────── 1240/2000  loss 0.0312  accuracy 0.978  812 steps/s  0:01 left
CROCHET_EXPORT std::string render_progress_bar(const Progress& progress,
                                               const ProgressBarStyle& style);

// The same in words, for pipes and files:
//
//   step 1240/2000 (62%), loss 0.0312, accuracy 0.978, 812 steps/s, 0:01 left
CROCHET_EXPORT std::string render_progress_line(const Progress& progress);

// "0:07", "12:34", "3:25:45"; "2d 03:25" for a day or more.
CROCHET_EXPORT std::string format_time_left(double seconds);

}  // namespace crochet::inline v0::internal
