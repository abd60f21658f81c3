// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/chart.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/braille.h"

namespace crochet::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Points = std::vector<std::pair<double, double>>;

TEST(ChartTest, TicksAreNumbersThatAreGoodToRead) {
  EXPECT_THAT(ticks(0, 100, 5), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(ticks(3, 9, 3), ElementsAre(4, 6, 8));
  EXPECT_THAT(ticks(-1, 1, 4), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_THAT(ticks(5, 5, 4), ElementsAre(5));
  EXPECT_THAT(ticks(0, std::numeric_limits<double>::infinity(), 4), ElementsAre(0));
  EXPECT_LE(ticks(0, 1e300, 4).size(), 6);
}

// Peaks stay.
TEST(ChartTest, ThinningKeepsTheExtremesOfEachPixel) {
  Points points;
  for (int i = 0; i < 100'000; ++i) points.emplace_back(i, i == 54'321 ? 1e6 : std::sin(i * 0.001));
  points[777].second = -99;
  const Points kept = thinned(points, 500);
  EXPECT_LE(kept.size(), 2004);
  EXPECT_THAT(kept, testing::Contains(testing::Pair(54'321, 1e6)));
  EXPECT_THAT(kept, testing::Contains(testing::Pair(777, -99)));
  EXPECT_EQ(kept.front(), points.front());
  EXPECT_EQ(kept.back(), points.back());
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &std::pair<double, double>::first));
  EXPECT_EQ(thinned({{0, 1}, {1, 2}}, 500).size(), 2);
}

TEST(ChartTest, AGapIsNotALine) {
  const std::string svg = line_chart(
      {.title = "loss", .x_title = "step", .curves = {{"loss", {{0, 1}, {1, NAN}, {2, 3}}}}});
  EXPECT_EQ(svg.find('L', svg.find(" d=\"")), svg.npos) << "two points, each by itself";
  EXPECT_THAT(svg, HasSubstr("[[0.0,1.0],[2.0,3.0]]"));
}

TEST(ChartTest, AWideRangeAboveZeroIsLogarithmic) {
  const Points wide = {{0, 1000}, {1, 0.1}};
  EXPECT_THAT(line_chart({.curves = {{"x", wide}}}), HasSubstr(">100</text>"));
  const Points below = {{0, 1000}, {1, -0.1}};
  EXPECT_THAT(line_chart({.curves = {{"x", below}}}), Not(HasSubstr(">10</text>")));
}

// Whatever a file has, the numbers in the picture are numbers.
TEST(ChartTest, AnythingCanBeDrawn) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Points& points : {Points{}, Points{{0, 0}}, Points{{5, 7}}, Points{{0, NAN}},
                               Points{{0, infinity}, {1, 2}}, Points{{0, 1e308}, {1, -1e308}},
                               Points{{0, 1e-320}, {9e15, 1e299}}, Points{{0, -5}, {1, -5}}}) {
    const std::string svg =
        line_chart({.title = "</script><b>", .curves = {{"</script>", points}}});
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
    EXPECT_EQ(svg.find("</script>"), svg.rfind("</script>"));
    EXPECT_EQ(braille_curve(points, 1, 40, 4).size(), 4);
  }
}

TEST(ChartTest, ABarHasItsPiecesInProportion) {
  const std::string svg = bar({{0, 30, "good", "a"}, {30, 40, "bad", "b & c"}},
                              {{10, 10, "good", "saved"}}, 0, 40, "lives");
  EXPECT_THAT(svg, HasSubstr("class=\"good\" x=\"0.00\" width=\"750.00\""));
  EXPECT_THAT(svg, HasSubstr("class=\"bad\" x=\"750.00\" width=\"250.00\""));
  EXPECT_THAT(svg, HasSubstr("b &amp; c"));
  EXPECT_THAT(bar({}, {}, 5, 5, "nothing"), HasSubstr("</svg>"));
}

TEST(ChartTest, ACurveInBraille) {
  EXPECT_THAT(braille_curve({{0, 0}, {1, 1}, {2, 2}, {3, 3}}, 3, 20, 2),
              ElementsAre("         3      ⡠⠤⠒⠊", "         0 ⣀⡠⠤⠒⠉    "));
}

}  // namespace
}  // namespace crochet::tool
