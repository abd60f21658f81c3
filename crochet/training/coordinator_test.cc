// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/coordinator.h"

#include <atomic>
#include <cmath>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "tests/support/forked_child.h"
#include "tests/support/no_threads.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::exception_ptr data_loss(const char* message) {
  return std::make_exception_ptr(DataLossError(message));
}

// CO-1: should_stop and a timed wait, before and after the request.
TEST(CoordinatorTest, StopsOnRequest) {
  Coordinator coordinator;
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_FALSE(coordinator.wait_for_stop(std::chrono::nanoseconds(1)));
  EXPECT_FALSE(coordinator.stop_request());
  coordinator.request_stop({"a thread", "it is done"});
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_TRUE(coordinator.wait_for_stop(std::chrono::nanoseconds(0)));
  EXPECT_EQ(coordinator.stop_request()->who, "a thread");
  EXPECT_EQ(coordinator.stop_request()->reason, "it is done");
  EXPECT_NO_THROW(coordinator.raise_requested_exception());
}

// CO-2: a stop requested by another thread wakes a timed wait.
TEST(CoordinatorTest, WakesTimedWaits) {
  Coordinator coordinator;
  std::thread asker([&] { coordinator.request_stop({"a thread", "it is done"}); });
  EXPECT_TRUE(coordinator.wait_for_stop(std::chrono::hours(1)));
  asker.join();
}

// CC-1: a wait without a timeout ends with the request.
TEST(CoordinatorTest, WaitsWithoutATimeout) {
  Coordinator coordinator;
  std::atomic<bool> asked = false;
  std::thread asker([&] {
    asked = true;
    coordinator.request_stop({"a thread", "it is done"});
  });
  coordinator.wait_for_stop();
  EXPECT_TRUE(asked);
  asker.join();
}

TEST(CoordinatorTest, StopsItsTokens) {
  Coordinator coordinator;
  const std::stop_token first = coordinator.stop_token();
  EXPECT_FALSE(first.stop_requested());
  coordinator.request_stop({"a thread", "it is done"});
  EXPECT_TRUE(first.stop_requested());
  coordinator.clear_stop();
  const std::stop_token second = coordinator.stop_token();
  EXPECT_FALSE(second.stop_requested());
  const LogCapture log;
  coordinator.request_stop(data_loss("gone"));
  EXPECT_TRUE(second.stop_requested());
}

TEST(CoordinatorTest, KeepsTheFirstRequest) {
  Coordinator coordinator;
  coordinator.request_stop({"first", ""});
  coordinator.request_stop({"second", ""});
  EXPECT_EQ(coordinator.stop_request()->who, "first");
}

// CO-9: the first error that is reported wins.
TEST(CoordinatorTest, KeepsTheFirstError) {
  const LogCapture log;
  Coordinator coordinator;
  coordinator.request_stop(data_loss("first"));
  coordinator.request_stop(data_loss("second"));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_FALSE(coordinator.stop_request());
  EXPECT_THAT([&] { coordinator.raise_requested_exception(); },
              ThrowsMessage<DataLossError>("first"));
  EXPECT_TRUE(log.contains("second"));
}

TEST(CoordinatorTest, LogsAnErrorReportedAfterACleanStop) {
  const LogCapture log;
  Coordinator coordinator;
  coordinator.request_stop({"a thread", "it is done"});
  coordinator.request_stop(data_loss("too late"));
  EXPECT_NO_THROW(coordinator.raise_requested_exception());
  EXPECT_TRUE(log.contains("too late"));
}

// The log's callback is user code: it may call the coordinator itself.
TEST(CoordinatorTest, LogsWithoutHoldingItsMutex) {
  Coordinator coordinator;
  int num_asked = 0;
  const LogCallback previous = set_log_callback([&](Severity, std::string_view) {
    if (coordinator.should_stop()) ++num_asked;
  });
  coordinator.request_stop(data_loss("first"));
  coordinator.request_stop(data_loss("second"));
  set_log_callback(previous);
  EXPECT_EQ(num_asked, 2);
}

// CO-11: an error with a configured code requests a clean stop.
TEST(CoordinatorTest, TreatsConfiguredCodesAsACleanStop) {
  Coordinator coordinator({.clean_stop_codes = {Code::kDataLoss, Code::kCancelled}});
  coordinator.request_stop(data_loss("nothing is left"));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_EQ(coordinator.stop_request()->who, "a thread");
  EXPECT_EQ(coordinator.stop_request()->reason, "nothing is left");
  EXPECT_NO_THROW(coordinator.join());
}

TEST(CoordinatorTest, TreatsTheEndOfTheDataAsACleanStopByDefault) {
  const LogCapture log;
  const auto end = std::make_exception_ptr(OutOfRangeError("no more batches"));
  Coordinator coordinator;
  coordinator.request_stop(end);
  EXPECT_NO_THROW(coordinator.join());
  Coordinator strict({.clean_stop_codes = {}});
  strict.request_stop(end);
  EXPECT_THROW(strict.join(), OutOfRangeError);
  Coordinator other({.clean_stop_codes = {Code::kCancelled}});
  other.request_stop(end);
  EXPECT_THROW(other.join(), OutOfRangeError);
}

// CO-12: an exception that leaves the guarded body is reported; the first report wins.
TEST(CoordinatorTest, ReportsAnExceptionOfAGuardedBody) {
  struct UsersError {};
  const LogCapture log;
  Coordinator coordinator;
  coordinator.stop_on_exception([] {});
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_NO_THROW(coordinator.stop_on_exception([] { throw UsersError(); }));
  EXPECT_NO_THROW(coordinator.stop_on_exception([] { throw DataLossError("second"); }));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_THROW(coordinator.join(), UsersError);
}

// CO-3: join waits for the given threads, without any stop request.
TEST(CoordinatorTest, JoinsThreadsThatEndOnTheirOwn) {
  Coordinator coordinator;
  std::atomic<int> num_done = 0;
  CoordinatedThreads threads;
  for (int i = 0; i < 3; ++i)
    threads.push_back(std::make_shared<CoordinatedThread>("counter", [&] { ++num_done; }));
  coordinator.join(threads);
  EXPECT_EQ(num_done, 3);
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_TRUE(coordinator.joined());
}

// CO-4, CO-5: the registered ones too.
TEST(CoordinatorTest, JoinsRegisteredAndGivenThreads) {
  Coordinator coordinator;
  std::atomic<int> num_done = 0;
  const auto count = [&] { ++num_done; };
  coordinator.register_thread(std::make_shared<CoordinatedThread>("registered", count));
  coordinator.start_thread("started", count);
  coordinator.join({std::make_shared<CoordinatedThread>("given", count)});
  EXPECT_EQ(num_done, 3);
  EXPECT_THROW(coordinator.register_thread(nullptr), InvalidArgumentError);
}

// CC-2, CC-3: ten threads count; the one that reaches the limit stops all of them at that count.
TEST(CoordinatorTest, StopsRunningThreads) {
  constexpr int kLimit = 1000;
  Coordinator coordinator;
  std::mutex mutex;
  int count = 0;
  for (int i = 0; i < 10; ++i)
    coordinator.start_thread("counter", [&] {
      while (true) {
        const std::lock_guard lock(mutex);
        if (coordinator.should_stop()) return;
        if (++count == kLimit) coordinator.request_stop({"a counter", "the limit is reached"});
      }
    });
  coordinator.join();
  EXPECT_EQ(count, kLimit);
}

// A thread that ends with the test and ignores the coordinator.
class CoordinatorStragglerTest : public testing::TestWithParam<double> {
 protected:
  ~CoordinatorStragglerTest() override { release(); }
  void release() {
    if (!std::exchange(released_, true)) latch_.count_down();
  }

  LogCapture log_;
  FakeClock clock_;
  std::latch latch_{1};
  bool released_ = false;
  CoordinatedThreads stragglers_{
      std::make_shared<CoordinatedThread>("slow", [this] { latch_.wait(); }),
      std::make_shared<CoordinatedThread>("slower", [this] { latch_.wait(); })};
  Coordinator coordinator_{{.clock = &clock_}};
};

INSTANTIATE_TEST_SUITE_P(Grace, CoordinatorStragglerTest, testing::Values(1e-10, 0.002, 1.0));

// CO-6: a thread still running after the grace period is an error that names it.
TEST_P(CoordinatorStragglerTest, IsAnError) {
  const Clock::TimePoint start = clock_.now();
  coordinator_.request_stop({"the program", "it is enough"});
  EXPECT_THAT([&] { coordinator_.join(stragglers_, {.stop_grace_period_secs = GetParam()}); },
              ThrowsMessage<FailedPreconditionError>(
                  testing::AllOf(HasSubstr("threads still running"), HasSubstr("slow, slower"))));
  EXPECT_EQ(clock_.now() - start, from_seconds(GetParam()));
  EXPECT_TRUE(coordinator_.joined());
}

// CO-7: or a warning.
TEST_P(CoordinatorStragglerTest, IsAWarningIfIgnored) {
  coordinator_.request_stop({"the program", "it is enough"});
  EXPECT_NO_THROW(coordinator_.join(
      stragglers_, {.stop_grace_period_secs = GetParam(), .ignore_live_threads = true}));
  EXPECT_TRUE(log_.contains("threads still running after the stop: slow, slower"));
}

TEST_F(CoordinatorStragglerTest, YieldsToTheErrorOfAThread) {
  coordinator_.request_stop(data_loss("the cause"));
  EXPECT_THAT([&] { coordinator_.join(stragglers_); }, ThrowsMessage<DataLossError>("the cause"));
}

TEST_F(CoordinatorStragglerTest, StaysRegistered) {
  coordinator_.request_stop({"the program", "it is enough"});
  for (const auto& thread : stragglers_) coordinator_.register_thread(thread);
  EXPECT_THROW(coordinator_.join(), FailedPreconditionError);
  EXPECT_THROW(coordinator_.join(), FailedPreconditionError);
  release();
  for (const auto& thread : stragglers_) thread->wait();
  EXPECT_NO_THROW(coordinator_.join());
}

TEST_F(CoordinatorStragglerTest, IsNotAStragglerIfItEndsWithinTheGracePeriod) {
  Coordinator coordinator;  // With the real clock.
  coordinator.start_thread("dutiful", [&] { coordinator.wait_for_stop(); });
  coordinator.request_stop({"the program", "it is enough"});
  EXPECT_NO_THROW(coordinator.join());
}

TEST(CoordinatorTest, RejectsANegativeGracePeriod) {
  Coordinator coordinator;
  EXPECT_THROW(coordinator.join({}, {.stop_grace_period_secs = -1}), InvalidArgumentError);
  EXPECT_THROW(coordinator.join({}, {.stop_grace_period_secs = NAN}), InvalidArgumentError);
}

TEST(CoordinatorTest, WaitsForItsThreadsWhenItIsDestroyed) {
  const LogCapture log;
  std::shared_ptr<CoordinatedThread> thread;
  {
    Coordinator coordinator;
    thread = coordinator.start_thread("reader", [&] { coordinator.wait_for_stop(); });
  }
  EXPECT_TRUE(thread->has_ended());
}

// CO-8, CO-9: join throws the first error reported by a thread, and does so at each call.
TEST(CoordinatorTest, ThrowsTheErrorOfAThreadFromJoin) {
  const LogCapture log;
  Coordinator coordinator;
  coordinator.start_thread("first", [] { throw DataLossError("first"); })->wait();
  coordinator.start_thread("second", [] { throw DataLossError("second"); });
  EXPECT_THAT([&] { coordinator.join(); }, ThrowsMessage<DataLossError>("first"));
  EXPECT_THAT([&] { coordinator.join(); }, ThrowsMessage<DataLossError>("first"));
  EXPECT_TRUE(log.contains("second"));
}

// CO-14: after the join an error is thrown at once; after clear_stop it is normal again.
TEST(CoordinatorTest, ThrowsAnErrorReportedAfterTheJoin) {
  const LogCapture log;
  Coordinator coordinator;
  coordinator.join();
  EXPECT_THAT([&] { coordinator.request_stop(data_loss("late")); },
              ThrowsMessage<DataLossError>("late"));
  EXPECT_THROW(coordinator.stop_on_exception([] { throw DataLossError("late"); }), DataLossError);
  EXPECT_NO_THROW(
      coordinator.request_stop(std::make_exception_ptr(OutOfRangeError("a clean stop"))));
  EXPECT_TRUE(coordinator.should_stop());
  coordinator.clear_stop();
  EXPECT_FALSE(coordinator.joined());
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_FALSE(coordinator.stop_request());
  EXPECT_NO_THROW(coordinator.request_stop(data_loss("in time")));
  EXPECT_THAT([&] { coordinator.join(); }, ThrowsMessage<DataLossError>("in time"));
}

TEST(CoordinatorTest, LogsAnErrorOfAStartedThreadAfterTheJoin) {
  const LogCapture log;
  FakeClock clock;
  std::latch release(1);
  Coordinator coordinator({.clock = &clock});
  const auto thread = coordinator.start_thread("late", [&] {
    release.wait();
    throw DataLossError("too late");
  });
  coordinator.request_stop({"the program", "it is enough"});
  coordinator.join({}, {.ignore_live_threads = true});
  release.count_down();
  thread->wait();
  EXPECT_TRUE(log.contains("thread \"late\", error after the join: too late"));
}

// Neither its threads nor those that wait for it exist in the child.
TEST(CoordinatorTest, AForkedChildDoesNotWaitForThreadsOfItsParent) {
  std::optional<Coordinator> coordinator;
  coordinator.emplace();
  std::latch waiting(2);
  const auto wait = [&] {
    waiting.count_down();
    coordinator->wait_for_stop();
  };
  const auto thread = coordinator->start_thread("reader", wait);
  std::thread other(wait);
  waiting.wait();
  EXPECT_EQ(run_in_child([&] {
              if (!thread->has_ended() || !thread->wait()) return 1;
              coordinator->request_stop({"the child", "it ends"});
              coordinator->join({thread});
              coordinator.reset();
              return 0;
            }),
            0);
  EXPECT_FALSE(coordinator->should_stop());
  coordinator->request_stop({"the test", "it ends"});
  other.join();
}

TEST(CoordinatorTest, ThrowsATypedErrorIfAThreadCannotBeStarted) {
  Coordinator coordinator;
  const NoThreads none;
  EXPECT_THAT([&] { coordinator.start_thread("reader", [] {}); },
              ThrowsMessage<ResourceExhaustedError>(HasSubstr("reader: cannot start a thread: ")));
  EXPECT_NO_THROW(coordinator.join());
}

// The destructor of a forgotten error may call any function of it: its mutex is not held.
TEST(CoordinatorTest, DestroysErrorsWithoutHoldingAMutex) {
  struct NosyError {
    explicit NosyError(Coordinator& coordinator) : coordinator(&coordinator) {}
    ~NosyError() { coordinator->stop_request(); }
    Coordinator* coordinator;
  };
  Coordinator coordinator;
  coordinator.request_stop(std::make_exception_ptr(NosyError(coordinator)));
  coordinator.clear_stop();
  EXPECT_FALSE(coordinator.should_stop());
}

}  // namespace
}  // namespace crochet
