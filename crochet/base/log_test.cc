// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/log.h"

#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::Pair;

// Gives the log back to stderr, whatever a test did.
class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { set_log_callback({}); }

  LogCallback collect() {
    return [this](Severity severity, std::string_view message) {
      lines_.emplace_back(severity, message);
    };
  }

  std::vector<std::pair<Severity, std::string>> lines_;
};

TEST_F(LogTest, HandsEveryLineToTheCallback) {
  set_log_callback(collect());
  log_debug("step {}", 1);
  log_info("step {}", 2);
  log_warning("step {}", 3);
  log_error("step {}", 4);
  EXPECT_THAT(lines_,
              ElementsAre(Pair(Severity::kDebug, "step 1"), Pair(Severity::kInfo, "step 2"),
                          Pair(Severity::kWarning, "step 3"), Pair(Severity::kError, "step 4")));
}

TEST_F(LogTest, GivesThePreviousCallbackBack) {
  set_log_callback(collect());
  LogCallback first = set_log_callback([](Severity, std::string_view) {});
  log_info("not collected");
  set_log_callback(std::move(first));
  log_info("collected");
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kInfo, "collected")));
}

TEST_F(LogTest, DropsWhatTheCallbackThrows) {
  set_log_callback([](Severity, std::string_view) { throw std::runtime_error("no disk"); });
  EXPECT_NO_THROW(log_error("a line"));
}

TEST_F(LogTest, LetsACallbackLog) {
  set_log_callback([this](Severity severity, std::string_view message) {
    lines_.emplace_back(severity, message);
    if (severity == Severity::kError) log_info("about {}", message);
  });
  log_error("it");
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kError, "it"), Pair(Severity::kInfo, "about it")));
}

TEST_F(LogTest, CallsOneAtATime) {
  set_log_callback(collect());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int k = 0; k < 100; ++k) log_info("line");
      });
  }
  EXPECT_EQ(lines_.size(), 400);
}

TEST_F(LogTest, DefaultsToStderrWithoutDebugLines) {
  set_log_callback({});
  ::testing::internal::CaptureStderr();
  log_debug("hidden");
  log_info("one");
  log_warning("two");
  log_error("three");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              MatchesRegex("I [0-9:]+ one\nW [0-9:]+ two\nE [0-9:]+ three\n"));
}

}  // namespace
}  // namespace crochet
