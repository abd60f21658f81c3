// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Saves whose interval follows from what they cost.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::ThrowsMessage;

class SaveBudgetHookTest : public testing::Test {
 protected:
  // The number of checkpoints of `steps` steps of a second, if each takes `secs` to write.
  size_t num_saves(CheckpointSaverHookOptions options, int64_t steps, double secs) {
    files_.watch([this, secs](const std::string& operation) {
      if (operation.starts_with("rename") && operation.find(".index") != std::string::npos)
        clock_.advance(from_seconds(secs));
    });
    ScriptedGraph graph;
    graph.variable("w", Tensor::scalar(1.0));
    options.checkpoint_dir = "run";
    options.saver =
        std::make_shared<Saver>(SaverOptions{.max_to_keep = 0, .files = &files_, .clock = &clock_});
    options.clock = &clock_;
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                             {CheckpointSaverHook(options)}, {.clock = &clock_});
    for (int64_t i = 0; i < steps; ++i) {
      session.run(graph.train());
      clock_.advance(std::chrono::seconds(1));
    }
    session.close();
    return list_checkpoints(files_, "run", "model.ckpt").size();
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem disk_{clock_};
  FailingFileSystem files_{disk_};
};

// Each save of 2 s is followed by 200 s of training: at 0, 200, 400, 600, 800 and the end.
TEST_F(SaveBudgetHookTest, SavesCostThatPartOfTheTime) {
  EXPECT_EQ(num_saves({.budget_percent = 1}, 900, 2), 6);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("a checkpoint is saved every 200 s: a save makes "
                                               "training wait 2 s")));
}

// sqrt(2 * 2 s * 2500 s) = 100 s.
TEST_F(SaveBudgetHookTest, SavesAsOftenAsTheRunFails) {
  EXPECT_EQ(num_saves({.mean_secs_between_failures = 2500}, 450, 2), 6);
}

TEST_F(SaveBudgetHookTest, RefusesAnIntervalAsWell) {
  EXPECT_THAT(
      [&] { num_saves({.save_steps = 5, .budget_percent = 1}, 1, 1); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("expected neither save_steps nor save_secs")));
  EXPECT_THROW(num_saves({.save_secs = 5, .mean_secs_between_failures = 1}, 1, 1),
               InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
