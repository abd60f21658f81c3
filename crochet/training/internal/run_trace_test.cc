// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/run_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/testing/fake_clock.h"

namespace crochet::internal {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class RunTraceTest : public testing::Test {
 protected:
  void advance(int secs) { clock_.advance(seconds(secs)); }
  // A snapshot takes 2 s.
  SavePromise begin_save(int64_t step) {
    const Clock::TimePoint begin = clock_.now();
    advance(2);
    SavePromise promise("runs/model.ckpt-" + std::to_string(step), step, clock_);
    trace_.follow(promise.ticket(), begin, clock_.now());
    return promise;
  }
  // "saves in runs: copy model.ckpt-1 0+2"
  std::vector<std::string> take() {
    std::vector<std::string> texts;
    for (const TraceSpan& span : trace_.take(clock_.now()))
      texts.push_back(span.track + ": " + span.name + " " +
                      std::to_string(span.start / seconds(1)) + "+" +
                      std::to_string(span.duration / seconds(1)));
    return texts;
  }

  FakeClock clock_;
  RunTrace trace_;
};

TEST_F(RunTraceTest, HasTheStagesOfASave) {
  trace_.begin(clock_.now());
  SavePromise save = begin_save(1);
  advance(3);
  save.reach(SaveStage::kWritten);
  advance(4);
  save.reach(SaveStage::kDurable);
  advance(1);
  save.publish(save.ticket().prefix());
  advance(10);
  EXPECT_THAT(take(), ElementsAre("saves in runs: copy model.ckpt-1 0+2",
                                  "saves in runs: write model.ckpt-1 2+3",
                                  "saves in runs: sync model.ckpt-1 5+4",
                                  "saves in runs: publish model.ckpt-1 9+1"));
  EXPECT_FALSE(trace_.is_on());
}

TEST_F(RunTraceTest, HasWhatBeganBeforeIt) {
  SavePromise ended = begin_save(1);
  ended.publish(ended.ticket().prefix());
  SavePromise save = begin_save(2);
  save.reach(SaveStage::kWritten);
  advance(5);
  trace_.begin(clock_.now());
  advance(3);
  EXPECT_THAT(take(), ElementsAre("saves in runs: sync model.ckpt-2 0+3"));
  advance(1);
  trace_.begin(clock_.now());
  save.reach(SaveStage::kDurable);
  advance(2);
  EXPECT_THAT(take(), ElementsAre("saves in runs: sync model.ckpt-2 0+0",
                                  "saves in runs: publish model.ckpt-2 0+2"));
}

TEST_F(RunTraceTest, ASaveThatHasFailedEndsWithItsLastStage) {
  trace_.begin(clock_.now());
  SavePromise save = begin_save(1);
  advance(3);
  save.reach(SaveStage::kWritten);
  save.fail(std::make_exception_ptr(UnavailableError("no disk")));
  advance(5);
  EXPECT_THAT(take(), ElementsAre("saves in runs: copy model.ckpt-1 0+2",
                                  "saves in runs: write model.ckpt-1 2+3"));
  trace_.begin(clock_.now());
  EXPECT_THAT(take(), IsEmpty());
}

TEST_F(RunTraceTest, SpansBeginNotBeforeIt) {
  const Clock::TimePoint before = clock_.now();
  advance(1);
  trace_.begin(clock_.now());
  advance(1);
  trace_.add("run", before, clock_.now());
  EXPECT_THAT(take(), ElementsAre("training: run 0+1"));
}

}  // namespace
}  // namespace crochet::internal
