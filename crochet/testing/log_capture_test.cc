// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/log_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LogCaptureTest, CollectsLines) {
  LogCapture log;
  log_info("one");
  log_warning("two");
  log_info("three");
  EXPECT_THAT(log.lines(), ElementsAre("one", "two", "three"));
  EXPECT_THAT(log.lines(Severity::kInfo), ElementsAre("one", "three"));
  EXPECT_TRUE(log.contains("hre"));
  EXPECT_FALSE(log.contains("four"));
  log.clear();
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST(LogCaptureTest, RestoresThePreviousLog) {
  LogCapture outer;
  {
    LogCapture inner;
    log_info("inner");
    EXPECT_THAT(inner.lines(), ElementsAre("inner"));
  }
  log_info("outer");
  EXPECT_THAT(outer.lines(), ElementsAre("outer"));
}

}  // namespace
}  // namespace crochet
