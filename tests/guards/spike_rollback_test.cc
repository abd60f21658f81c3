// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// After a spike, everything goes back together: what a run ends with, draws and writes is what it
// would be if the batch had never been there.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/guards/spike_guard_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/outputs/outputs.h"
#include "crochet/summary/internal/metric_lines.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/tracking/epochs.h"

namespace crochet {
namespace {

using testing::HasSubstr;

class SpikeRollbackTest : public testing::Test {
 protected:
  struct Result {
    double weight = 0;
    std::string rows = {};
    std::map<int64_t, double> curve = {};
    RunReport report = {};
  };

  // Trains on numbers, in a shuffled order. `bad` is one that makes the loss jump; `left_out` is
  // never used.
  Result train(const std::string& directory, std::optional<int> bad, std::optional<int> left_out,
               bool refuses = false) {
    std::vector<int> numbers;
    for (int i = 0; i < 40; ++i) numbers.push_back(i);
    Result result;
    double loss = 0;
    const auto guard =
        std::make_shared<SpikeGuardHook>("loss", SpikeGuardHookOptions{.min_values = 5});
    Loop loop({.checkpoint = {.dir = directory, .every_steps = 10, .saver = {.max_to_keep = 0}},
               .summaries = {.every_steps = 1},
               .hooks = {guard, StopAtStepHook({.last_step = 100})},
               .files = &files_,
               .clock = &clock_});
    Epochs epochs(numbers, {.batch_size = 1, .seed = 7});
    OutputFile rows(directory + "/rows.csv", {.files = &files_});
    loop.track("weight", result.weight);
    loop.track("epochs", epochs);
    loop.track("rows", rows);
    loop.scalar("loss", [&] { return loss; });
    result.report = loop.run([&](Step&) {
      const int number = epochs.next()[0];
      if (guard->skips_batch() || number == left_out) return LoopAction::kSkip;
      loss = number == bad ? 1e6 : 1 + 0.01 * number;
      if (refuses && !guard->accepts(loss)) return LoopAction::kSkip;
      result.weight = 0.9 * result.weight + loss;
      rows << number << ',' << result.weight << '\n';
      return LoopAction::kContinue;
    });
    result.rows = read_file(files_, directory + "/rows.csv");
    for (const auto& [step, metrics] : internal::read_metric_lines(files_, directory))
      if (metrics.contains("loss")) result.curve[step] = metrics.at("loss");
    return result;
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(SpikeRollbackTest, TheRunIsAsIfTheBatchHadNeverBeenThere) {
  const Result expected = train("never", {}, 12);
  const Result spiked = train("spiked", 12, {});
  EXPECT_GT(spiked.report.recoveries, 0);
  EXPECT_EQ(spiked.weight, expected.weight);
  EXPECT_EQ(spiked.rows, expected.rows);
  EXPECT_EQ(spiked.curve, expected.curve);
}

TEST_F(SpikeRollbackTest, ABatchThatIsRefusedInTimeNeedsNoRollback) {
  const Result expected = train("never", {}, 12);
  const Result refused = train("refused", 12, {}, true);
  EXPECT_EQ(refused.report.recoveries, 0);
  EXPECT_EQ(refused.weight, expected.weight);
  EXPECT_EQ(refused.rows, expected.rows);
  EXPECT_EQ(refused.curve, expected.curve);
}

TEST_F(SpikeRollbackTest, TheJournalHasTheRollback) {
  train("spiked", 12, {});
  EXPECT_THAT(read_file(files_, "spiked/events.jsonl"),
              HasSubstr("is a spike: the median of the last"));
}

}  // namespace
}  // namespace crochet
