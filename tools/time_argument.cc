// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/time_argument.h"

#include <time.h>

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::tool {
namespace {

constexpr double kDaySecs = 24 * 3600;
constexpr double kMaxSecs = 100 * 366 * kDaySecs;

double secs_of_unit(std::string_view unit) {
  if (unit.empty() || unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return kDaySecs;
  return 0;
}

// True if all of the text is a time of this format, which replaces fields of `time`.
bool parse_as(const std::string& text, const char* format, tm& time) {
  tm parsed = time;
  const char* const end = ::strptime(text.c_str(), format, &parsed);
  if (end == nullptr || *end != '\0') return false;
  time = parsed;
  return true;
}

}  // namespace

double parse_duration(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const double unit = secs_of_unit(std::string_view(stop, static_cast<size_t>(end - stop)));
  const double secs = number * unit;
  if (error != std::errc() || unit == 0 || !(secs >= 0 && secs <= kMaxSecs))
    throw InvalidArgumentError(
        fmt::format("found \"{}\" as a time, expected one such as 90s, 30m, 2h or 1d", text));
  return secs;
}

double parse_time(const std::string& text, double now) {
  const auto seconds = static_cast<time_t>(now);
  tm time = {};
  ::localtime_r(&seconds, &time);  // Today, for a time without a date.
  time.tm_sec = 0;
  time.tm_isdst = -1;
  bool is_date = false;
  for (const char* const format :
       std::array{"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"})
    is_date = is_date || parse_as(text, format, time);
  if (!is_date && !parse_as(text, "%H:%M:%S", time) && !parse_as(text, "%H:%M", time))
    throw InvalidArgumentError(fmt::format(
        "found \"{}\" as a time, expected one such as '2026-12-01 08:00' or 08:00", text));
  if (!is_date && static_cast<double>(::mktime(&time)) <= now) {
    ++time.tm_mday;
    time.tm_isdst = -1;
  }
  const auto result = static_cast<double>(::mktime(&time));
  if (result <= now)
    throw InvalidArgumentError(fmt::format("found {} as a time, which is over", text));
  return result;
}

}  // namespace crochet::tool
