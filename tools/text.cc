// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/text.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/chrono.h>

#include "crochet/base/internal/escape.h"

namespace crochet::tool {
namespace {

bool is_continuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// In characters, as shown on a terminal.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return !is_continuation(static_cast<unsigned char>(c)); }));
}

}  // namespace

std::string printable(std::string_view name) { return internal::escape_name(name); }
std::string printable_text(std::string_view message) { return internal::escape_text(message); }
std::string json_text(std::string_view name) {
  return internal::is_utf8(name) ? std::string(name) : printable(name);
}

std::string size_text(uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"", "k", "M", "G", "T", "P", "E"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  // A value that would be rounded to 1000 of a unit is 1 of the next.
  for (; size >= (unit == 0 ? 1000 : 999.5); size /= 1000) ++unit;
  return fmt::format("{:.{}f}{}", size, unit > 0 && size < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string time_text(double unix_time) {
  constexpr double kYear10000 = 253402300800;
  if (!(unix_time >= 0 && unix_time < kYear10000)) return "-";
  return fmt::format("{:%FT%TZ}", fmt::gmtime(static_cast<time_t>(unix_time)));
}

std::string duration_text(double secs) {
  if (secs < 120) return fmt::format("{:.0f} s", std::max(secs, 0.0));
  if (secs < 2 * 3600) return fmt::format("{:.0f} min", secs / 60);
  if (secs < 48 * 3600) return fmt::format("{:.1f} h", secs / 3600);
  return fmt::format("{:.1f} d", secs / (24 * 3600));
}

std::string count_text(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(width(columns_[i].title));
    for (const Row& row : rows_) widths[i] = std::max(widths[i], width(row.cells[i]));
  }
  std::string text;
  const auto add_line = [&](auto cell_at) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_at(i);
      const std::string padding(widths[i] - width(cell), ' ');
      const bool is_last = i + 1 == columns_.size();
      text += columns_[i].align == Align::kRight ? padding + cell : is_last ? cell : cell + padding;
      text += is_last ? "\n" : "  ";
    }
  };
  add_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const Row& row : rows_) {
    add_line([&](size_t i) -> const std::string& { return row.cells[i]; });
    text += row.note;
  }
  return text;
}

}  // namespace crochet::tool
