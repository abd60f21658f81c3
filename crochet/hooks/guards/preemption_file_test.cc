// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/thread.h"
#include "crochet/hooks/guards/preemption_hook.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/standing_clock.h"

namespace crochet {
namespace {

using std::chrono::seconds;

class PreemptionFileTest : public testing::Test {
 protected:
  StandingClock clock_;
  MemoryFileSystem files_{clock_};
  LogCapture log_;
};

TEST_F(PreemptionFileTest, EndsAfterTheGracePeriodOfTheFile) {
  const auto source = preemption_file("stop", 30, &files_, &clock_);
  std::optional<PreemptionNotice> notice;
  internal::Thread thread("test", [&] { notice = source->wait({}); });
  clock_.wait_for_sleepers();
  files_.create("stop")->close();
  clock_.advance(seconds(1));
  thread.join();
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->ends_at, files_.modified_time("stop") + 30);
  EXPECT_EQ(notice->text, "stop announces the end of the process");
}

TEST_F(PreemptionFileTest, AnOlderFileIsNotHeeded) {
  files_.create("stop")->close();
  clock_.advance(seconds(1));
  const auto source = preemption_file("stop", 30, &files_, &clock_);
  std::stop_source stop;
  std::optional<PreemptionNotice> notice;
  internal::Thread thread("test", [&] { notice = source->wait(stop.get_token()); });
  clock_.wait_for_sleepers();
  clock_.advance(seconds(1));
  clock_.wait_for_sleepers();
  stop.request_stop();
  thread.join();
  EXPECT_FALSE(notice);
  EXPECT_THAT(log_.lines(Severity::kWarning),
              testing::ElementsAre("stop is older than this process: it is not heeded"));
}

TEST_F(PreemptionFileTest, RefusesANegativePeriod) {
  EXPECT_THROW(preemption_file("stop", -1), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
