// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/curve.h"

namespace crochet::tool {

// Pictures in SVG, as parts of a page of html_page(), which has their colours, and shows the values
// under the pointer, or by the arrow keys.

struct Chart {
  std::string title = {};
  std::string x_title = {};
  std::vector<Curve> curves = {};  // NaN and what is beyond 1e300 are gaps.
  std::vector<double> marks = {};  // Values of x that get a line, such as those of restarts.
};

// A line for each curve. The scale is logarithmic if all values are above 0 and the largest is
// more than 1,000 times the smallest.
std::string line_chart(Chart chart);

// A piece of a bar, by its class in the page's style: "good", "warning", "bad", "down", "use0" to
// "use8".
struct Piece {
  double begin = 0;
  double end = 0;
  std::string style = {};
  std::string title = {};  // Shown under the pointer.
};
// Pieces side by side on one scale from `begin` to `end`, with marks below; no marks, no room for
// them.
std::string bar(const std::vector<Piece>& pieces, const std::vector<Piece>& marks, double begin,
                double end, const std::string& title);

// At most `count` numbers that are good to read, and cover the range: 0, 50, 100.
std::vector<double> ticks(double low, double high, int count);

// The points that a picture `width` pixels wide shows: of each pixel the first, the smallest, the
// largest and the last.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points,
                                               int width);

}  // namespace crochet::tool
