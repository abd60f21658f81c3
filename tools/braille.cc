// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/braille.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "tools/curve.h"

namespace crochet::tool {
namespace {

constexpr int kScaleWidth = 10;

// Points that are on or off, in characters of 2 by 4.
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns),
        rows_(rows),
        dots_(static_cast<size_t>(columns) * static_cast<size_t>(rows)) {}

  int width() const { return 2 * columns_; }
  int height() const { return 4 * rows_; }

  void set(int x, int y) {
    // Unicode, 15.7: the bits of the dots, by column and row.
    constexpr std::array<std::array<uint8_t, 4>, 2> kBits = {
        {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    if (x < 0 || x >= width() || y < 0 || y >= height()) return;
    dots_[place(x / 2, y / 4)] |= kBits[static_cast<size_t>(x % 2)][static_cast<size_t>(y % 4)];
  }

  // A line whose points all touch.
  void line(int x0, int y0, int x1, int y1) {
    const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= steps; ++i) set(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
  }

  std::string row(int row) const {
    std::string text;
    for (int column = 0; column < columns_; ++column) {
      const uint8_t dots = dots_[place(column, row)];
      if (dots == 0) {
        text += ' ';
        continue;
      }
      // U+2800 and the dots, in UTF-8.
      text += static_cast<char>(0xe2);
      text += static_cast<char>(0xa0 | (dots >> 6));
      text += static_cast<char>(0x80 | (dots & 0x3f));
    }
    return text;
  }

 private:
  size_t place(int column, int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column);
  }

  const int columns_;
  const int rows_;
  std::vector<uint8_t> dots_;
};

}  // namespace

std::vector<std::string> braille_curve(const std::vector<std::pair<double, double>>& points,
                                       double last, int width, int height) {
  Canvas canvas(width - kScaleWidth - 1, height);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const auto& [x, y] : points)
    if (is_drawn(y)) {
      low = std::min(low, y);
      high = std::max(high, y);
    }
  const bool is_empty = low > high;
  if (is_empty) low = high = 0;
  const double y_range = high - low;
  bool has_last = false;
  int last_x = 0;
  int last_y = 0;
  for (const auto& [x, y] : points) {
    if (!is_drawn(y)) {
      has_last = false;
      continue;
    }
    const double right = last > 0 ? std::clamp(x / last, 0.0, 1.0) : 0;
    const double up = y_range > 0 ? (y - low) / y_range : 0.5;
    const int at_x = static_cast<int>(std::lround(right * (canvas.width() - 1)));
    const int at_y = static_cast<int>(std::lround((1 - up) * (canvas.height() - 1)));
    if (has_last)
      canvas.line(last_x, last_y, at_x, at_y);
    else
      canvas.set(at_x, at_y);
    has_last = true;
    last_x = at_x;
    last_y = at_y;
  }
  std::vector<std::string> lines;
  for (int row = 0; row < height; ++row) {
    std::string scale;
    if (!is_empty && row == 0) scale = fmt::format("{:.4g}", high);
    if (!is_empty && row == height - 1) scale = fmt::format("{:.4g}", low);
    lines.push_back(fmt::format("{:>{}} {}", scale, kScaleWidth, canvas.row(row)));
  }
  return lines;
}

}  // namespace crochet::tool
