// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace crochet::tool {

// A curve in text, from x = 0 to x = `last`: lines of `width` characters in all, of which the first
// ones have the scale, and the others points of Braille, 2 by 4 in a character. By x; NaN and what
// is beyond 1e300 are gaps.
// Requires: a width of 20 or more, a height of 2 or more.
std::vector<std::string> braille_curve(const std::vector<std::pair<double, double>>& points,
                                       double last, int width, int height);

}  // namespace crochet::tool
