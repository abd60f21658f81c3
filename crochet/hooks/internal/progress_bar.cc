// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/progress_bar.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crochet::inline v0::internal {
namespace {

constexpr int kWidestBar = 40;
constexpr int kNarrowestBar = 5;

// Steps per second with at least three digits: "81234", "812", "12.3", "0.0123".
std::string format_rate(double steps_per_sec) {
  return steps_per_sec >= 100 ? fmt::format("{:.0f} steps/s", steps_per_sec)
                              : fmt::format("{:.3g} steps/s", steps_per_sec);
}

// The number of `parts` that are done, rounded down: 100 % must not be shown before the last step
// is done.
int parts_done(const Progress& progress, int parts) {
  const int64_t step = std::max<int64_t>(progress.step, 0);
  if (step >= progress.last_step.value_or(0)) return parts;
  const auto done = static_cast<long double>(step) * static_cast<long double>(parts);
  return static_cast<int>(done / static_cast<long double>(*progress.last_step));
}

std::string format_percent(const Progress& progress) {
  return fmt::format("{}%", parts_done(progress, 100));
}

std::optional<std::string> format_rest(const Progress& progress) {
  if (!progress.last_step || !progress.steps_per_sec || *progress.steps_per_sec <= 0)
    return std::nullopt;
  const int64_t rest = std::max<int64_t>(0, *progress.last_step - progress.step);
  return format_time_left(static_cast<double>(rest) / *progress.steps_per_sec) + " left";
}

// The parts to the right of the bar; the last one is left out first.
std::vector<std::string> parts_of(const Progress& progress) {
  std::vector<std::string> parts = {progress.last_step
                                        ? fmt::format("{}/{}", progress.step, *progress.last_step)
                                        : fmt::format("step {}", progress.step)};
  for (const auto& [name, value] : progress.values)
    parts.push_back(fmt::format("{} {}", name, value));
  if (progress.steps_per_sec) parts.push_back(format_rate(*progress.steps_per_sec));
  if (const auto rest = format_rest(progress)) parts.push_back(*rest);
  if (progress.num_warnings > 0)
    parts.push_back(
        fmt::format("{} warning{}", progress.num_warnings, progress.num_warnings == 1 ? "" : "s"));
  if (!progress.activity.empty()) parts.push_back(progress.activity);
  return parts;
}

std::string repeat(const char* text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string draw_bar(int full, int columns, const ProgressBarStyle& style) {
  const std::string done = repeat(style.unicode ? "━" : "#", full);
  const std::string rest = repeat(style.unicode ? "─" : "-", columns - full);
  if (!style.color) return done + rest;
  return fmt::format("\033[32m{}\033[0m\033[2m{}\033[0m", done, rest);
}

// Joins as many parts as fit into `columns`. Requires: ASCII, so that a byte is a column.
std::string join_fitting(const std::vector<std::string>& parts, int columns) {
  std::string text;
  for (const std::string& part : parts) {
    const std::string next = text.empty() ? part : fmt::format("{}  {}", text, part);
    if (next.size() > static_cast<size_t>(std::max(columns, 0))) break;
    text = next;
  }
  return text;
}

}  // namespace

std::string render_progress_bar(const Progress& progress, const ProgressBarStyle& style) {
  const std::string percent =
      progress.last_step ? fmt::format("{:>4}", format_percent(progress)) : std::string();
  std::string text =
      join_fitting(parts_of(progress), style.width - static_cast<int>(percent.size()) - 1);
  if (percent.empty()) return text;
  if (text.empty()) return style.width < static_cast<int>(percent.size()) ? text : percent;
  const int left = style.width - static_cast<int>(percent.size() + text.size()) - 2;
  if (left < kNarrowestBar) return fmt::format("{} {}", percent, text);
  const int columns = std::min(left, kWidestBar);
  return fmt::format("{} {} {}", percent, draw_bar(parts_done(progress, columns), columns, style),
                     text);
}

std::string render_progress_line(const Progress& progress) {
  std::vector<std::string> parts = parts_of(progress);
  if (progress.last_step)
    parts[0] = fmt::format("step {} ({})", parts[0], format_percent(progress));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string format_time_left(double seconds) {
  // Clamped to a hundred years, so that the integers below stay in range.
  const auto total = static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, 3.2e9)));
  const int64_t days = total / 86400;
  const int64_t hours = total / 3600 % 24;
  const int64_t minutes = total / 60 % 60;
  if (days > 0) return fmt::format("{}d {:02}:{:02}", days, hours, minutes);
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, total % 60);
  return fmt::format("{}:{:02}", minutes, total % 60);
}

}  // namespace crochet::inline v0::internal
