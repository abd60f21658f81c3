// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/text.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace crochet::tool {
namespace {

unsigned char byte_at(std::string_view text, size_t i) {
  return static_cast<unsigned char>(text[i]);
}
bool is_continuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// The bytes that the character at the start of `text` has; 0 if it is no UTF-8.
size_t utf8_length(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if (!is_continuation(byte_at(text, i))) return 0;
  const unsigned char second = byte_at(text, 1);
  // Longer than need be, the halves of UTF-16's pairs, and beyond the last character.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

// ASCII's, and those of two bytes, which some terminals obey.
bool is_control(std::string_view character) {
  const unsigned char first = byte_at(character, 0);
  return first < 0x20 || first == 0x7f || (first == 0xc2 && byte_at(character, 1) < 0xa0);
}

void escape(std::string& result, std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n' || c == '\t' || c == '\r')
      result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
}

std::string escaped(std::string_view text, bool double_backslash) {
  std::string result;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    if (length == 0 || is_control(character))
      escape(result, character);
    else if (double_backslash && character == "\\")
      result += "\\\\";
    else
      result += character;
    text.remove_prefix(character.size());
  }
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// In characters, as a terminal shows them.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return !is_continuation(static_cast<unsigned char>(c)); }));
}

}  // namespace

std::string printable(std::string_view name) { return escaped(name, true); }
std::string printable_text(std::string_view message) { return escaped(message, false); }
std::string json_text(std::string_view name) {
  return is_utf8(name) ? std::string(name) : printable(name);
}

std::string size_text(uint64_t bytes) {
  constexpr std::array<const char*, 7> kUnits = {"", "k", "M", "G", "T", "P", "E"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  // What would be rounded to 1000 of a unit is 1 of the next.
  for (; size >= (unit == 0 ? 1000 : 999.5); size /= 1000) ++unit;
  return fmt::format("{:.{}f}{}", size, unit > 0 && size < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string time_text(double unix_time) {
  constexpr double kYear10000 = 253402300800;
  if (!(unix_time >= 0 && unix_time < kYear10000)) return "-";
  const auto seconds = static_cast<time_t>(unix_time);
  struct tm parts = {};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
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
