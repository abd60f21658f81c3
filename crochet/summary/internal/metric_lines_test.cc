// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/metric_lines.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/summary/summary_writer.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class MetricLinesTest : public testing::Test {
 protected:
  std::map<int64_t, Metrics> read() { return read_metric_lines(files_, "run"); }

  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  SummaryWriter writer_{"run", files_, clock_};
};

TEST_F(MetricLinesTest, ReadsNumbersInDoublePrecision) {
  EXPECT_THAT(read(), IsEmpty());
  writer_.add_scalar("loss", 0.1, 1);
  writer_.add_text("sample", "once", 1);
  writer_.add_scalar("rate", INFINITY, 1);
  writer_.add_scalar("loss", -INFINITY, 2);
  EXPECT_THAT(read(), ElementsAre(Pair(1, Metrics{{"loss", 0.1}, {"rate", INFINITY}}),
                                  Pair(2, Metrics{{"loss", -INFINITY}})));
  writer_.add_scalar("loss", NAN, 3);
  EXPECT_TRUE(std::isnan(read().at(3).at("loss")));
}

TEST_F(MetricLinesTest, LeavesOutWhatASessionWithdrew) {
  for (int64_t step = 1; step <= 4; ++step) writer_.add_scalar("loss", 1, step);
  writer_.start_session(2);
  writer_.add_scalar("loss", 0.5, 3);
  EXPECT_THAT(read(), ElementsAre(Pair(1, Metrics{{"loss", 1}}), Pair(2, Metrics{{"loss", 1}}),
                                  Pair(3, Metrics{{"loss", 0.5}})));
}

TEST_F(MetricLinesTest, ReplacesALaterPart) {
  for (int64_t step = 1; step <= 4; ++step) writer_.add_scalar("loss", 1, step);
  const std::vector<Scalar> point = {{"loss", 2}};
  writer_.replace_from(
      2, std::vector<StepScalars>{{.step = 3, .in_events = point, .in_json_lines = point}});
  EXPECT_THAT(read(), ElementsAre(Pair(1, Metrics{{"loss", 1}}), Pair(3, Metrics{{"loss", 2}})));
  EXPECT_EQ(read_eval_metrics(files_, "run"), read());
}

TEST_F(MetricLinesTest, SkipsWhatIsNotALine) {
  writer_.add_scalar("loss", 1, 1);
  const auto file = files_.append_to("run/metrics.jsonl");
  for (const std::string_view bad : {"[1]\n", "{\"step\": \"2\", \"loss\": 1}\n", "{\"loss\": 1}\n",
                                     "\n", "{\"step\": 3, \"loss\": 1"})
    file->append(bad);
  EXPECT_THAT(read(), ElementsAre(Pair(1, Metrics{{"loss", 1}})));
}

}  // namespace
}  // namespace crochet::internal
