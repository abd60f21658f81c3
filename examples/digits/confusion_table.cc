// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "confusion_table.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <string_view>

#include <fmt/color.h>
#include <fmt/format.h>

#include "digits_data.h"

namespace digits {
namespace {

constexpr int kCellWidth = 4;

std::string_view environment(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

// The first of these variables that is set decides, as in setlocale.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (!locale.empty())
      return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

std::string cell(int64_t count, bool hit, const TableStyle& style) {
  if (count == 0) return fmt::format("{:>{}}", style.utf8 ? "·" : ".", kCellWidth);
  std::string text = fmt::format("{:{}}", count, kCellWidth);
  if (!style.colour) return text;
  return fmt::format(fmt::fg(hit ? fmt::terminal_color::green : fmt::terminal_color::red), "{}",
                     text);
}

std::string header(const TableStyle& style) {
  std::string text = "   ";
  for (int predicted = 0; predicted < kClasses; ++predicted)
    text += fmt::format("{:{}}", predicted, kCellWidth);
  text += style.utf8 ? "\n  ┌" : "\n  +";
  for (int i = 0; i < kClasses * kCellWidth; ++i) text += style.utf8 ? "─" : "-";
  return text + "\n";
}

std::string row(int label, std::span<const int64_t> counts, const TableStyle& style) {
  std::string text = fmt::format("{} {}", label, style.utf8 ? "│" : "|");
  for (int predicted = 0; predicted < kClasses; ++predicted)
    text += cell(counts[static_cast<size_t>(predicted)], predicted == label, style);
  const auto total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (total == 0) return text + "\n";
  const auto hits = static_cast<double>(counts[static_cast<size_t>(label)]);
  return text + fmt::format("  {:6.1f} %\n", 100 * hits / static_cast<double>(total));
}

}  // namespace

TableStyle stdout_style() {
  if (isatty(STDOUT_FILENO) == 0 || environment("TERM") == "dumb") return {};
  return {.utf8 = locale_is_utf8(), .colour = environment("NO_COLOR").empty()};
}

std::string confusion_table(const crochet::Tensor& matrix, const TableStyle& style) {
  std::string text = header(style);
  const auto counts = matrix.flat<int64_t>();
  for (int label = 0; label < kClasses; ++label)
    text += row(label, counts.subspan(static_cast<size_t>(label) * kClasses, kClasses), style);
  return text;
}

}  // namespace digits
