// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/run_report.h"

#include <sstream>

#include <gtest/gtest.h>

namespace crochet {
namespace {

RunReport report_of(int64_t count) {
  RunReport report{.stop = {"StopAtStepHook", "reached step 9"}, .last_step = 9};
  report.restore.emplace().refused.resize(static_cast<size_t>(count));
  report.recoveries = static_cast<int>(count);
  report.saves = report.failed_saves = count;
  report.saving.skipped = report.saving.saved_in_fallback = report.saving.retries = count;
  return report;
}

TEST(RunReportTest, OmitsWhatDidNotHappen) {
  EXPECT_EQ(to_string(report_of(0)), "step 9: StopAtStepHook: reached step 9");
}

TEST(RunReportTest, IsPrintedByAStream) {
  RunReport report = report_of(1);
  std::ostringstream out;
  out << report << '\n' << *report.restore << '\n' << report.saving;
  EXPECT_EQ(out.str(), to_string(report) + '\n' + to_string(*report.restore) + '\n' +
                           to_string(report.saving));
}

TEST(RunReportTest, CountsOne) {
  RunReport report = report_of(1);
  report.resumed_from = 4;
  EXPECT_EQ(to_string(report),
            "step 9 (resumed from 4, 1 damaged checkpoint refused, 1 recovery, 1 checkpoint, "
            "1 failed save, 1 skipped save, 1 in the fallback directory, 1 retry of a save): "
            "StopAtStepHook: reached step 9");
}

TEST(RunReportTest, CountsSeveral) {
  EXPECT_EQ(to_string(report_of(2)),
            "step 9 (2 damaged checkpoints refused, 2 recoveries, 2 checkpoints, 2 failed saves, "
            "2 skipped saves, 2 in the fallback directory, 2 retries of saves): "
            "StopAtStepHook: reached step 9");
}

}  // namespace
}  // namespace crochet
