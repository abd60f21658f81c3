// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/log.h"

#include <atomic>
#include <cstdlib>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::Pair;

// Sends the log back to stderr after each test.
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

TEST_F(LogTest, PassesEveryLineToTheCallback) {
  set_log_callback(collect());
  log_debug(fmt::format("step {}", 1));
  log_info(fmt::format("step {}", 2));
  log_warning(fmt::format("step {}", 3));
  log_error(fmt::format("step {}", 4));
  EXPECT_THAT(lines_,
              ElementsAre(Pair(Severity::kDebug, "step 1"), Pair(Severity::kInfo, "step 2"),
                          Pair(Severity::kWarning, "step 3"), Pair(Severity::kError, "step 4")));
}

TEST_F(LogTest, ReturnsThePreviousCallback) {
  set_log_callback(collect());
  LogCallback first = set_log_callback([](Severity, std::string_view) {});
  log_info("not collected");
  set_log_callback(std::move(first));
  log_info("collected");
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kInfo, "collected")));
}

// Copies fail while that is set, as they do when memory is short.
struct UncopyableAtTimes {
  explicit UncopyableAtTimes(LogCallback callback) : callback(std::move(callback)) {}
  UncopyableAtTimes(const UncopyableAtTimes& other) : callback(other.callback) {
    if (fails_) throw std::bad_alloc();
  }
  void operator()(Severity severity, std::string_view message) const {
    callback(severity, message);
  }

  LogCallback callback;
  static inline bool fails_ = false;
};

TEST_F(LogTest, KeepsTheCallbackThatCannotBeReturned) {
  set_log_callback(UncopyableAtTimes(collect()));
  UncopyableAtTimes::fails_ = true;
  EXPECT_THROW(set_log_callback({}), std::bad_alloc);
  UncopyableAtTimes::fails_ = false;
  log_info("collected");
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kInfo, "collected")));
}

TEST_F(LogTest, ReplacesACallbackThatIsSetMeanwhile) {
  bool is_first = true;
  internal::replace_log_callback([&](const LogCallback& previous) {
    if (std::exchange(is_first, false)) set_log_callback(collect());
    return [previous](Severity severity, std::string_view message) {
      previous(severity, fmt::format("wrapped: {}", message));
    };
  });
  log_info("a line");
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kInfo, "wrapped: a line")));
}

TEST_F(LogTest, DropsExceptionsOfTheCallback) {
  set_log_callback([](Severity, std::string_view) { throw std::runtime_error("no disk"); });
  EXPECT_NO_THROW(log_error("a line"));
}

TEST_F(LogTest, LetsACallbackLog) {
  set_log_callback([this](Severity severity, std::string_view message) {
    lines_.emplace_back(severity, message);
    if (severity == Severity::kError) log_info(fmt::format("about {}", message));
  });
  log_error("it");
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kError, "it"), Pair(Severity::kInfo, "about it")));
}

TEST_F(LogTest, MakesOneCallAtATime) {
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

// The callback waits for a lock of the program whose owner logs.
TEST_F(LogTest, ALineOfAnotherThreadDoesNotWaitForACall) {
  std::latch in_call(1), unlocked(1);
  set_log_callback([&](Severity severity, std::string_view message) {
    if (message == "first") {
      in_call.count_down();
      unlocked.wait();
    }
    lines_.emplace_back(severity, message);
  });
  std::jthread thread([] { log_info("first"); });
  in_call.wait();
  log_info("second");
  log_info("third");
  unlocked.count_down();
  flush_log();
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kInfo, "first"), Pair(Severity::kInfo, "second"),
                                  Pair(Severity::kInfo, "third")));
}

TEST_F(LogTest, ACallbackMayReplaceItself) {
  const auto token = std::make_shared<int>();
  set_log_callback([this, token](Severity severity, std::string_view message) {
    set_log_callback(collect());
    EXPECT_EQ(token.use_count(), 2) << "the running callable was destroyed";
    lines_.emplace_back(severity, message);
  });
  log_info("first");
  EXPECT_EQ(token.use_count(), 1);
  log_info("second");
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kInfo, "first"), Pair(Severity::kInfo, "second")));
}

TEST_F(LogTest, ACallSurvivesReplacementByAnotherThread) {
  std::latch in_call(1), replaced(1);
  const auto token = std::make_shared<int>();
  std::atomic<long> owners = 0;
  set_log_callback([&in_call, &replaced, &owners, token](Severity, std::string_view) {
    in_call.count_down();
    replaced.wait();
    owners = token.use_count();
  });
  std::jthread thread([] { log_info("first"); });
  in_call.wait();
  set_log_callback(collect());
  log_info("second");
  replaced.count_down();
  flush_log();
  EXPECT_EQ(owners, 2);
  EXPECT_THAT(lines_, ElementsAre(Pair(Severity::kInfo, "second")));
  thread.join();
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(LogTest, LimitsTheDepthOfRecursiveLogging) {
  int num_calls = 0;
  set_log_callback([&](Severity, std::string_view) {
    ++num_calls;
    log_info("once more");
  });
  ::testing::internal::CaptureStderr();
  log_info("a line");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), MatchesRegex("I [0-9: -]+ once more\n"));
  EXPECT_EQ(num_calls, 11);
}

TEST_F(LogTest, LimitsTheNumberOfWaitingLines) {
  std::latch in_call(1), unlocked(1);
  std::atomic<int> num_calls = 0;
  set_log_callback([&](Severity, std::string_view) {
    if (++num_calls > 1) return;
    in_call.count_down();
    unlocked.wait();
  });
  std::jthread thread([] { log_info("the first"); });
  in_call.wait();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 10'001; ++i) log_info(fmt::format("line {}", i));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), MatchesRegex("I [0-9: -]+ line 10000\n"));
  unlocked.count_down();
  flush_log();
  EXPECT_EQ(num_calls, 10'001);
}

// The thread that is in a call does not exist in the child.
TEST_F(LogTest, AForkedChildLogsDuringACallOfAnotherThread) {
  std::latch in_call(1), unlocked(1);
  set_log_callback([&](Severity severity, std::string_view message) {
    if (message == "in the child") return log_to_stderr(severity, message);
    in_call.count_down();
    unlocked.wait();
  });
  std::jthread thread([] { log_info("in the parent"); });
  in_call.wait();
  EXPECT_EXIT(
      {
        log_info("in the child");
        flush_log();
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "I [0-9: -]+ in the child");
  unlocked.count_down();
}

struct LogsAtExit {
  ~LogsAtExit() { log_info("the last line"); }
};

TEST_F(LogTest, LogsWhileTheProgramExits) {
  EXPECT_EXIT(
      {
        static const LogsAtExit at_exit;  // Destroyed after everything below.
        static const std::string prefix = "a prefix too long for the object itself, and ";
        set_log_callback([copy = prefix](Severity severity, std::string_view message) {
          log_to_stderr(severity, copy + std::string(message));
        });
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "itself, and the last line");
}

TEST_F(LogTest, DefaultsToStderrWithoutDebugLines) {
  set_log_callback({});
  ::testing::internal::CaptureStderr();
  log_debug("hidden");
  log_info("one");
  log_warning("two");
  log_error("three");
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      MatchesRegex("I [0-9]+-[0-9]+-[0-9]+ [0-9:]+ one\nW [0-9: -]+ two\nE [0-9: -]+ three\n"));
}

}  // namespace
}  // namespace crochet
