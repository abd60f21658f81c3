// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/progress_bar.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Progress kHalfWay = {.step = 1240,
                           .last_step = 2000,
                           .values = {{"loss", "0.0312"}, {"accuracy", "0.978"}},
                           .steps_per_sec = 812};

// The columns a text takes on a terminal: UTF-8 characters, without colours.
int columns(const std::string& text) {
  int count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      i = text.find('m', i);
    else if ((text[i] & 0xC0) != 0x80)
      ++count;
  }
  return count;
}

TEST(ProgressBarTest, ShowsEverythingIfThereIsRoom) {
  EXPECT_EQ(render_progress_bar(kHalfWay, {.width = 100}),
            " 62% ###################------------- 1240/2000  loss 0.0312"
            "  accuracy 0.978  812 steps/s  0:01 left");
}

TEST(ProgressBarTest, ShowsWhatRunsInTheBackground) {
  Progress saving = kHalfWay;
  saving.activity = "saving step 1200";
  EXPECT_EQ(render_progress_bar(saving, {.width = 100}),
            " 62% ########------ 1240/2000  loss 0.0312  accuracy 0.978  812 steps/s  0:01 left  "
            "saving step 1200");
  EXPECT_EQ(render_progress_line(saving),
            "step 1240/2000 (62%), loss 0.0312, accuracy 0.978, 812 steps/s, 0:01 left, "
            "saving step 1200");
}

TEST(ProgressBarTest, ShowsHowManyWarningsThereWere) {
  Progress warned = kHalfWay;
  warned.num_warnings = 1;
  EXPECT_EQ(render_progress_line(warned),
            "step 1240/2000 (62%), loss 0.0312, accuracy 0.978, 812 steps/s, 0:01 left, 1 warning");
  warned.num_warnings = 12;
  EXPECT_THAT(render_progress_bar(warned, {.width = 120}), EndsWith("0:01 left  12 warnings"));
}

TEST(ProgressBarTest, NeverExceedsTheWidth) {
  Progress endless = kHalfWay;
  endless.last_step.reset();
  Progress long_names = kHalfWay;
  long_names.values = {{"a_name_that_is_longer_than_any_terminal_of_eighty_columns", "1"}};
  for (const Progress& progress : {kHalfWay, endless, long_names, Progress()})
    for (int width = 1; width <= 200; ++width)
      for (const bool unicode : {false, true})
        for (const bool color : {false, true}) {
          const std::string line =
              render_progress_bar(progress, {.width = width, .color = color, .unicode = unicode});
          ASSERT_LE(columns(line), width) << line;
        }
}

TEST(ProgressBarTest, ShowsAtLeastThePercentageIfThatFits) {
  for (int width = 4; width <= 200; ++width)
    EXPECT_THAT(render_progress_bar(kHalfWay, {.width = width}), StartsWith(" 62%")) << width;
}

TEST(ProgressBarTest, LeavesTheBarOutFirst) {
  EXPECT_EQ(render_progress_bar(kHalfWay, {.width = 70}),
            " 62% 1240/2000  loss 0.0312  accuracy 0.978  812 steps/s  0:01 left");
  EXPECT_EQ(render_progress_bar(kHalfWay, {.width = 30}), " 62% 1240/2000  loss 0.0312");
}

TEST(ProgressBarTest, DrawsLinesAndColoursOnlyIfAsked) {
  const std::string plain = render_progress_bar(kHalfWay, {.width = 120});
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  EXPECT_THAT(plain, Not(HasSubstr("━")));
  const std::string unicode = render_progress_bar(kHalfWay, {.width = 120, .unicode = true});
  EXPECT_THAT(unicode, HasSubstr("━─"));
  EXPECT_THAT(unicode, Not(HasSubstr("\033")));
  const std::string color = render_progress_bar(kHalfWay, {.width = 120, .color = true});
  EXPECT_THAT(color, HasSubstr("\033[32m#"));
  EXPECT_EQ(columns(color), columns(plain));
}

TEST(ProgressBarTest, ShowsNoPercentageWithoutALastStep) {
  Progress progress = kHalfWay;
  progress.last_step.reset();
  EXPECT_EQ(render_progress_bar(progress, {.width = 100}),
            "step 1240  loss 0.0312  accuracy 0.978  812 steps/s");
}

TEST(ProgressBarTest, RoundsThePercentageDownExactly) {
  for (int64_t step = 0; step <= 100; ++step) {
    const Progress progress = {.step = step, .last_step = 100};
    EXPECT_THAT(render_progress_line(progress), HasSubstr(fmt::format("({}%)", step)));
  }
  EXPECT_THAT(render_progress_line({.step = 1999, .last_step = 2000}), HasSubstr("(99%)"));
  EXPECT_THAT(render_progress_line({.step = 7, .last_step = 5}), HasSubstr("(100%)"));
  EXPECT_THAT(render_progress_line({.step = 0, .last_step = 0}), HasSubstr("(100%)"));
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(render_progress_line({.step = most / 2, .last_step = most}), HasSubstr("(49%)"));
}

TEST(ProgressBarTest, RendersTheSameInWords) {
  EXPECT_EQ(render_progress_line(kHalfWay),
            "step 1240/2000 (62%), loss 0.0312, accuracy 0.978, 812 steps/s, 0:01 left");
  EXPECT_EQ(render_progress_line({.step = 3}), "step 3");
}

TEST(ProgressBarTest, ShowsRatesOfAnySize) {
  const auto rate = [](double steps_per_sec) {
    return render_progress_line({.step = 1, .steps_per_sec = steps_per_sec});
  };
  EXPECT_EQ(rate(81234), "step 1, 81234 steps/s");
  EXPECT_EQ(rate(12.345), "step 1, 12.3 steps/s");
  EXPECT_EQ(rate(0.012345), "step 1, 0.0123 steps/s");
}

TEST(ProgressBarTest, ShowsTimesOfAnyLength) {
  EXPECT_EQ(format_time_left(-1), "0:00");
  EXPECT_EQ(format_time_left(0.2), "0:01");
  EXPECT_EQ(format_time_left(59.5), "1:00");
  EXPECT_EQ(format_time_left(754), "12:34");
  EXPECT_EQ(format_time_left(3 * 3600 + 25 * 60 + 45), "3:25:45");
  EXPECT_EQ(format_time_left(2 * 86400 + 3 * 3600 + 25 * 60), "2d 03:25");
  EXPECT_EQ(format_time_left(std::numeric_limits<double>::infinity()), "37037d 00:53");
}

}  // namespace
}  // namespace crochet::internal
