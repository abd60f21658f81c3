// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// keep_best in a whole run: from a loop's values to the checkpoints that are kept, and to the
// run's report.
#include <signal.h>

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class BestCheckpointTest : public testing::Test {
 protected:
  // Saves every 10 steps, and at the end; the loss is lowest at step 40.
  LoopOptions options(int64_t last_step) {
    return {.checkpoint = {.dir = "d",
                           .every_steps = 10,
                           .saver = {.max_to_keep = 1, .keep_best = KeepBest{"loss", 1}}},
            .hooks = {StopAtStepHook({.last_step = last_step})},
            .files = &files_,
            .clock = &clock_};
  }
  RunReport run(LoopOptions options) {
    Loop loop(std::move(options));
    loop.track("x", x_);
    loop.scalar("loss", [this] { return std::abs(x_ - 40); });
    return loop.run([this](Step& step) { x_ = static_cast<double>(step.number()); });
  }
  std::vector<std::string> on_disk() { return list_checkpoints(files_, "d", "model.ckpt"); }
  std::map<std::string, double> metrics(int64_t step) {
    const auto sidecar = read_sidecar(files_, fmt::format("d/model.ckpt-{}", step));
    return sidecar ? sidecar->metrics : std::map<std::string, double>();
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  double x_ = 0;
};

TEST_F(BestCheckpointTest, KeepsTheBestByAScalarOfTheLoop) {
  run(options(75));
  EXPECT_THAT(on_disk(), ElementsAre("d/model.ckpt-40", "d/model.ckpt-75"));
  EXPECT_EQ(metrics(40), (std::map<std::string, double>{{"loss", 0}}));
  // Step 75 was not due, so its run did not compute the value.
  EXPECT_EQ(metrics(75), (std::map<std::string, double>{{"loss", 35}}));
}

TEST_F(BestCheckpointTest, KeepsTheBestIfSavesAreDueBySeconds) {
  LoopOptions every_run = options(12);
  every_run.checkpoint.every_steps = {};
  every_run.checkpoint.every_secs = 1e-9;
  Loop loop(std::move(every_run));
  loop.track("x", x_);
  loop.scalar("loss", [this] { return std::abs(x_ - 7); });
  loop.run([this](Step& step) {
    x_ = static_cast<double>(step.number());
    clock_.advance(std::chrono::seconds(1));
  });
  EXPECT_THAT(on_disk(), ElementsAre("d/model.ckpt-7", "d/model.ckpt-12"));
}

TEST_F(BestCheckpointTest, AResumedRunKnowsTheBestOfEarlierRuns) {
  run(options(60));
  run(options(90));
  EXPECT_THAT(on_disk(), ElementsAre("d/model.ckpt-40", "d/model.ckpt-90"));
}

TEST_F(BestCheckpointTest, KeepsTheBestByAnEvaluation) {
  LoopOptions evaluated = options(70);
  EvaluationHook evaluation({.every_n_steps = 10,
                             .evaluate =
                                 [this] {
                                   return Metrics{{"score", -std::abs(x_ - 30)}};
                                 },
                             .clock = &clock_});
  evaluated.checkpoint.saver.keep_best = KeepBest{"score", 1, Better::kHigher};
  evaluated.checkpoint.saving.metrics = {evaluation.metric("score")};
  evaluated.hooks.emplace_back(std::move(evaluation));
  run(std::move(evaluated));
  EXPECT_THAT(on_disk(), ElementsAre("d/model.ckpt-30", "d/model.ckpt-70"));
}

// As with an evaluator in another process: the metric of step n is known when n + 10 is saved.
TEST_F(BestCheckpointTest, ALateMetricBelongsToItsOwnStep) {
  LoopOptions late = options(70);
  late.checkpoint.saver.max_to_keep = 2;
  late.checkpoint.saving.metrics = {
      {"loss", [this]() -> std::optional<MetricPoint> {
         const auto step = static_cast<int64_t>(x_) - 10;
         if (step < 0) return std::nullopt;
         return MetricPoint{step, std::abs(static_cast<double>(step) - 30)};
       }}};
  run(std::move(late));
  EXPECT_THAT(on_disk(), ElementsAre("d/model.ckpt-30", "d/model.ckpt-60", "d/model.ckpt-70"));
  EXPECT_EQ(metrics(60), (std::map<std::string, double>{{"loss", 30}}));
  EXPECT_THAT(metrics(70), IsEmpty());
}

// After the checkpoint is on disk: it may take the rest of a grace period.
TEST_F(BestCheckpointTest, RecordsTheMetricOfASaveOnASignal) {
  LoopOptions signalled = options(75);
  signalled.hooks.emplace_back(SignalHook({SIGTERM}));
  Loop loop(std::move(signalled));
  loop.track("x", x_);
  bool was_saved = false;
  loop.scalar("loss", [&] {
    was_saved = !on_disk().empty() && on_disk().back() == "d/model.ckpt-33";
    return std::abs(x_ - 40);
  });
  const RunReport report = loop.run([this](Step& step) {
    x_ = static_cast<double>(step.number());
    if (step.number() == 33) ::raise(SIGTERM);
  });
  set_pending_signal(0);
  EXPECT_EQ(report.signal, SIGTERM);
  EXPECT_TRUE(was_saved);
  EXPECT_EQ(metrics(33), (std::map<std::string, double>{{"loss", 7}}));
}

TEST_F(BestCheckpointTest, ASaveOnASignalMayBeTheBest) {
  LoopOptions signalled = options(75);
  signalled.hooks.emplace_back(SignalHook({SIGTERM}));
  Loop loop(std::move(signalled));
  loop.track("x", x_);
  loop.scalar("loss", [&] { return std::abs(x_ - 40); });
  loop.run([this](Step& step) {
    x_ = static_cast<double>(step.number());
    if (step.number() == 42) {
      x_ = 40;
      ::raise(SIGTERM);
    }
  });
  set_pending_signal(0);
  run(options(90));
  EXPECT_THAT(on_disk(), testing::Contains("d/model.ckpt-42"));
}

TEST_F(BestCheckpointTest, RecordsTheMetricOfARequestedSave) {
  Loop loop(options(15));
  loop.track("x", x_);
  loop.scalar("loss", [this] { return std::abs(x_ - 7); });
  loop.run([this](Step& step) {
    x_ = static_cast<double>(step.number());
    if (step.number() == 7) step.request_save();
  });
  EXPECT_THAT(on_disk(), ElementsAre("d/model.ckpt-7", "d/model.ckpt-15"));
}

TEST_F(BestCheckpointTest, WarnsAboutAnUnknownMetric) {
  LoopOptions unknown = options(20);
  unknown.checkpoint.saver.keep_best = KeepBest{"f1", 1};
  run(std::move(unknown));
  EXPECT_TRUE(log_.contains("keep_best: no metric \"f1\""));
  EXPECT_THAT(on_disk(), ElementsAre("d/model.ckpt-20"));
}

TEST_F(BestCheckpointTest, RejectsMetricsThatItCannotRecord) {
  const auto nothing = [] { return std::optional<MetricPoint>(); };
  const auto refuses = [&](const std::vector<MetricSource>& metrics, const char* message) {
    LoopOptions refused = options(20);
    refused.checkpoint.saving.metrics = metrics;
    EXPECT_THAT([&] { run(std::move(refused)); }, ThrowsMessage<InvalidArgumentError>(message));
  };
  refuses({{"", nothing}}, "LoopOptions: checkpoint.saving.metrics has a metric without a name");
  refuses({{"f1"}}, "LoopOptions: checkpoint.saving.metrics has a metric \"f1\" without a source");
  refuses({{"f1", nothing}, {"loss", nothing}, {"f1", nothing}},
          "LoopOptions: checkpoint.saving.metrics has two metrics \"f1\": give each its own name");
}

TEST_F(BestCheckpointTest, ReportsRestoredAndRefusedCheckpoints) {
  EXPECT_EQ(run(options(60)).restore, std::nullopt);
  files_.create("d/model.ckpt-60.data-00000-of-00001");  // Emptied.
  const RunReport report = run(options(70));
  EXPECT_EQ(report.resumed_from, 40);
  ASSERT_TRUE(report.restore);
  EXPECT_EQ(report.restore->prefix, "d/model.ckpt-40");
  EXPECT_THAT(report.restore->restored, testing::UnorderedElementsAre("x", "global_step"));
  ASSERT_EQ(report.restore->refused.size(), 1u);
  EXPECT_EQ(report.restore->refused[0].prefix, "d/model.ckpt-60");
  EXPECT_THAT(report.restore->refused[0].reason, HasSubstr("the file ends at 0"));
  EXPECT_THAT(to_string(report), HasSubstr("(resumed from 40, 1 damaged checkpoint refused, "));
  EXPECT_THAT(to_string(*report.restore), HasSubstr("; d/model.ckpt-60 was refused: "));
}

}  // namespace
}  // namespace crochet
