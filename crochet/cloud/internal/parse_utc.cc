// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/parse_utc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>

namespace crochet::inline v0::cloud::internal {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// The number that these characters are; -1 if they are something else.
int number_at(std::string_view text, size_t begin, size_t size) {
  int number = -1;
  const char* const end = text.data() + begin + size;
  const auto [stop, error] = std::from_chars(text.data() + begin, end, number);
  return error == std::errc() && stop == end ? number : -1;
}

// True if the text is as long as the form and has its characters, but for digits, where that has a
// '0', and letters, where it has an 'a'.
bool has_form(std::string_view text, std::string_view form) {
  return std::ranges::equal(text, form, [](char c, char expected) {
    if (expected == '0') return c >= '0' && c <= '9';
    if (expected == 'a') return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c == expected;
  });
}

std::optional<double> time_of(int year, int month, int day, std::string_view time) {
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const int hour = number_at(time, 0, 2);
  const int minute = number_at(time, 3, 2);
  const int second = number_at(time, 6, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400.0 + hour * 3600 + minute * 60 + second;
}

}  // namespace

std::optional<double> parse_utc(const std::string& text) {
  const std::string_view view = text;
  if (has_form(view, "0000-00-00T00:00:00Z"))
    return time_of(number_at(view, 0, 4), number_at(view, 5, 2), number_at(view, 8, 2),
                   view.substr(11));
  if (has_form(view, "0000-00-00T00:00:00.000Z")) {
    const auto second = parse_utc(text.substr(0, 19) + "Z");
    return second ? std::optional(*second + number_at(view, 20, 3) / 1000.0) : std::nullopt;
  }
  if (has_form(view, "aaa, 00 aaa 0000 00:00:00 GMT")) {
    const auto month = std::ranges::find(kMonths, view.substr(8, 3));
    return time_of(number_at(view, 12, 4), static_cast<int>(month - kMonths.begin()) + 1,
                   number_at(view, 5, 2), view.substr(17));
  }
  return std::nullopt;
}

}  // namespace crochet::inline v0::cloud::internal
