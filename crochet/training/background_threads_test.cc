// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <condition_variable>
#include <latch>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/coordinator.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

// Operations that are callables, run concurrently by any number of threads, as in an engine
// with queues.
class Operations {
 public:
  Output add(const std::string& name, std::function<void()> action) {
    actions_[name] = std::move(action);
    return graph_.value(name, std::function<Tensor()>());
  }
  // Throws `error` once it has run `limit` times.
  template <typename Error = OutOfRangeError>
  Output count_up_to(const std::string& name, int limit, std::atomic<int>& count,
                     Error error = OutOfRangeError("the data ended")) {
    return add(name, [&count, limit, error] {
      if (count == limit) throw error;
      ++count;
    });
  }
  template <typename Error>
  Output fails(const std::string& name, Error error) {
    return add(name, [error] { throw error; });
  }

  ScriptedGraph& graph() { return graph_; }
  void run(const std::string& name) const { actions_.at(name)(); }

 private:
  ScriptedGraph graph_;
  std::map<std::string, std::function<void()>> actions_;
};

class OperationsSession final : public Session {
 public:
  explicit OperationsSession(Operations& operations) : operations_(operations) {}

  Graph& graph() const override { return operations_.graph(); }
  const std::string& target() const override { return target_; }
  void run_into(std::span<const Output> fetches, const Feeds&, std::span<Tensor>, const RunOptions&,
                RunMetadata*) override {
    for (const Output& output : fetches) operations_.run(output.operation()->name);
  }
  Snapshot snapshot(std::span<const Variable>) override { throw UnimplementedError("snapshot"); }
  void assign(std::span<const Assignment>) override { throw UnimplementedError("assign"); }
  void close() override {}

 private:
  Operations& operations_;
  const std::string target_;
};

// A queue like TensorFlow's: closing it wakes threads that wait for room or for an element.
class Queue {
 public:
  explicit Queue(int capacity) : capacity_(capacity) {}

  void enqueue() {
    std::unique_lock lock(mutex_);
    ++num_waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return size_ < capacity_ || closed_; });
    --num_waiting_;
    if (closed_) throw CancelledError("the queue is closed");
    ++size_;
    changed_.notify_all();
  }
  void dequeue() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return size_ > 0 || closed_; });
    if (size_ == 0) throw OutOfRangeError("the queue is closed and empty");
    --size_;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  int size() const {
    const std::lock_guard lock(mutex_);
    return size_;
  }
  // Waits until a thread waits for room.
  void wait_until_full() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return size_ == capacity_ && num_waiting_ > 0; });
  }

 private:
  const int capacity_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  int size_ = 0;
  int num_waiting_ = 0;
  bool closed_ = false;
};

std::vector<std::string> names_of(const CoordinatedThreads& threads) {
  std::vector<std::string> names;
  for (const auto& thread : threads) names.push_back(thread->name());
  return names;
}

void wait_for(const CoordinatedThreads& threads) {
  for (const auto& thread : threads) thread->wait();
}

class QueueRunnerThreadsTest : public testing::Test {
 protected:
  Operations operations_;
  OperationsSession session_{operations_};
  std::atomic<int> count_ = 0;
  std::atomic<int> num_closed_ = 0;
};

// QR-1, CQ-1: an operation runs until its data ends, not an error, with a coordinator or without.
TEST_F(QueueRunnerThreadsTest, RunsAnOperationUntilItsDataEnds) {
  QueueRunner runner({.queue_name = "fifo_queue",
                      .enqueue_ops = {operations_.count_up_to("count", 3, count_)},
                      .close_op = operations_.add("close", [&] { ++num_closed_; })});
  const CoordinatedThreads threads = create_threads(runner, session_);
  EXPECT_THAT(names_of(threads), ElementsAre("QueueRunnerThread-fifo_queue-count"));
  wait_for(threads);
  EXPECT_EQ(count_, 3);
  EXPECT_EQ(num_closed_, 1);
  EXPECT_THAT(runner.exceptions_raised(), IsEmpty());

  count_ = 0;
  Coordinator coordinator;
  create_threads(runner, session_, coordinator);
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(count_, 3);
  EXPECT_FALSE(coordinator.should_stop());
}

// QR-2: two operations run in two threads, each to its own limit; the last to end closes.
TEST_F(QueueRunnerThreadsTest, RunsEachOperationToItsOwnLimit) {
  std::atomic<int> other = 0;
  const Output first = operations_.count_up_to("first", 3, count_);
  const Output second = operations_.count_up_to("second", 30, other);
  QueueRunner runner(
      {.queue_name = "q", .enqueue_ops = {first, second}, .close_op = operations_.add("close", [&] {
         ++num_closed_;
         EXPECT_EQ(count_, 3);
         EXPECT_EQ(other, 30);
       })});
  const CoordinatedThreads threads = create_threads(runner, session_);
  EXPECT_THAT(names_of(threads),
              ElementsAre("QueueRunnerThread-q-first", "QueueRunnerThread-q-second"));
  wait_for(threads);
  EXPECT_EQ(num_closed_, 1);
  EXPECT_THAT(runner.exceptions_raised(), IsEmpty());
}

// QR-3: without a coordinator the errors of all threads are kept, and logged.
TEST_F(QueueRunnerThreadsTest, KeepsAndLogsErrorsWithoutACoordinator) {
  const LogCapture log;
  const Output first = operations_.fails("first", DataLossError("one"));
  const Output second = operations_.fails("second", NotFoundError("two"));
  QueueRunner runner({.queue_name = "q",
                      .enqueue_ops = {first, second},
                      .close_op = operations_.add("close", [&] { ++num_closed_; })});
  wait_for(create_threads(runner, session_));
  std::vector<std::string> messages;
  for (const auto& error : runner.exceptions_raised()) messages.push_back(describe(error));
  EXPECT_THAT(messages, testing::UnorderedElementsAre(HasSubstr("one"), HasSubstr("two")));
  EXPECT_TRUE(log.contains("queue \"q\""));
  EXPECT_EQ(num_closed_, 0) << "an error is not the end of the data";
}

// QR-4, CQ-5: the end of the queue it reads from ends it cleanly, and closes its own.
TEST_F(QueueRunnerThreadsTest, PassesOnTheEndOfTheData) {
  Queue from(10);
  Queue to(10);
  for (int i = 0; i < 3; ++i) from.enqueue();
  from.close();
  QueueRunner runner({.queue_name = "to",
                      .enqueue_ops = {operations_.add("move",
                                                      [&] {
                                                        from.dequeue();
                                                        to.enqueue();
                                                      })},
                      .close_op = operations_.add("close", [&] { to.close(); })});
  Coordinator coordinator;
  create_threads(runner, session_, coordinator);
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_TRUE(to.closed());
  for (int i = 0; i < 3; ++i) to.dequeue();
  EXPECT_THROW(to.dequeue(), OutOfRangeError);
}

// QR-5: with a coordinator that has already stopped no operation is run; it is only cancelled.
TEST_F(QueueRunnerThreadsTest, RunsNothingAfterTheStop) {
  std::atomic<int> num_cancelled = 0;
  const Output count = operations_.count_up_to("count", 3, count_);
  const Output cancel = operations_.add("cancel", [&] { ++num_cancelled; });
  QueueRunner runner({.queue_name = "q",
                      .enqueue_ops = {count},
                      .close_op = operations_.add("close", [&] { ++num_closed_; }),
                      .cancel_op = cancel});
  Coordinator coordinator;
  coordinator.request_stop({"the program", "it is done"});
  const CoordinatedThreads threads = create_threads(runner, session_, coordinator);
  EXPECT_THAT(names_of(threads),
              ElementsAre("QueueRunnerThread-q-count", "QueueRunnerThread-q-close_on_stop"));
  wait_for(threads);
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(count_, 0);
  EXPECT_EQ(num_closed_, 0);
  EXPECT_EQ(num_cancelled, 1);
}

// QR-6, CQ-4: an error is thrown by join.
TEST_F(QueueRunnerThreadsTest, AnErrorStopsTheCoordinator) {
  const LogCapture log;
  QueueRunner runner({.queue_name = "q",
                      .enqueue_ops = {operations_.fails("read", NotFoundError("no such file"))}});
  Coordinator coordinator;
  wait_for(create_threads(runner, session_, coordinator));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_THAT([&] { coordinator.join(); }, ThrowsMessage<NotFoundError>("no such file"));
  EXPECT_THAT(runner.exceptions_raised(), IsEmpty()) << "the coordinator received it";
}

// QR-7: a stop cancels an operation that waits for room.
TEST_F(QueueRunnerThreadsTest, AStopCancelsAWaitingOperation) {
  const LogCapture log;
  Queue queue(5);
  const Output enqueue = operations_.add("enqueue", [&] { queue.enqueue(); });
  const Output cancel = operations_.add("cancel", [&] { queue.close(); });
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {enqueue}, .cancel_op = cancel});
  Coordinator coordinator;
  create_threads(runner, session_, coordinator);
  queue.wait_until_full();
  coordinator.request_stop({"the program", "it has seen enough"});
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(queue.size(), 5);
  EXPECT_THAT(log.lines(), IsEmpty()) << "being cancelled by a stop is not an error";
}

// QR-8: each session gets its own threads.
TEST_F(QueueRunnerThreadsTest, ServesSeveralSessions) {
  const Output count = operations_.count_up_to("count", 3, count_);
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {count, count}});
  OperationsSession other(operations_);
  const CoordinatedThreads threads = create_threads(runner, session_);
  const CoordinatedThreads more = create_threads(runner, other);
  EXPECT_THAT(threads, SizeIs(2));
  EXPECT_THAT(more, SizeIs(2));
}

// QR-9: a second creation for the same session starts no threads while those of the first run.
TEST_F(QueueRunnerThreadsTest, StartsNoSecondSetOfThreadsForASession) {
  std::latch go(1);
  const Output op = operations_.add("op", [&] {
    go.wait();
    throw OutOfRangeError("the data ended");
  });
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {op}});
  Coordinator coordinator;
  const CoordinatedThreads threads = create_threads(runner, session_, coordinator);
  EXPECT_THAT(threads, SizeIs(1));
  EXPECT_THAT(create_threads(runner, session_, coordinator), IsEmpty());
  go.count_down();
  wait_for(threads);
  EXPECT_THAT(create_threads(runner, session_, coordinator), SizeIs(1));
  coordinator.join();
}

// QR-10: once all have ended, threads can be created again, and earlier errors are forgotten.
TEST_F(QueueRunnerThreadsTest, StartsAgainOnceAllHaveEnded) {
  const LogCapture log;
  const Output good = operations_.count_up_to("good", 3, count_);
  const Output bad = operations_.fails("bad", DataLossError("rotten"));
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {good, bad}});
  for (int round = 0; round < 2; ++round) {
    count_ = 0;
    const CoordinatedThreads threads = create_threads(runner, session_);
    EXPECT_THAT(threads, SizeIs(2));
    wait_for(threads);
    EXPECT_EQ(count_, 3);
    EXPECT_THAT(runner.exceptions_raised(), SizeIs(1));
  }
}

// QR-12: all loops of a graph are started.
TEST_F(QueueRunnerThreadsTest, StartsAllLoopsOfAGraph) {
  std::atomic<int> other = 0;
  const Output first = operations_.count_up_to("first", 3, count_);
  const Output second = operations_.count_up_to("second", 5, other);
  for (const Output& op : {first, second})
    operations_.graph().add_background_loop(
        std::make_shared<QueueRunner>(QueueRunnerOptions{.queue_name = "q", .enqueue_ops = {op}}));
  Coordinator coordinator;
  EXPECT_THAT(names_of(start_queue_runners(session_, coordinator)),
              ElementsAre("QueueRunnerThread-q-first", "QueueRunnerThread-q-second"));
  coordinator.join();
  EXPECT_EQ(count_, 3);
  EXPECT_EQ(other, 5);
}

// CQ-2: what counts as the end of the data can be chosen.
TEST_F(QueueRunnerThreadsTest, AcceptsSeveralCodesAsTheEndOfTheData) {
  QueueRunner runner(
      {.queue_name = "q",
       .enqueue_ops = {operations_.fails("range", OutOfRangeError("the data ended")),
                       operations_.fails("cancel", CancelledError("the queue is closed"))},
       .close_op = operations_.add("close", [&] { ++num_closed_; }),
       .queue_closed_codes = {Code::kOutOfRange, Code::kCancelled}});
  Coordinator coordinator({.clean_stop_codes = {}});
  create_threads(runner, session_, coordinator);
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(num_closed_, 1);
}

// CQ-3: a close that fails is an error.
TEST_F(QueueRunnerThreadsTest, ReportsACloseThatFails) {
  const LogCapture log;
  QueueRunner runner({.queue_name = "q",
                      .enqueue_ops = {operations_.count_up_to("count", 3, count_)},
                      .close_op = operations_.fails("close", NotFoundError("no such queue"))});
  Coordinator coordinator;
  wait_for(create_threads(runner, session_, coordinator));
  EXPECT_THAT([&] { coordinator.join(); }, ThrowsMessage<NotFoundError>("no such queue"));
}

// CQ-6: without a stop an operation waits until closing the session cancels it, which is an error.
TEST_F(QueueRunnerThreadsTest, ClosingTheSessionIsAnErrorForAWaitingOperation) {
  const LogCapture log;
  Queue queue(5);
  QueueRunner runner(
      {.queue_name = "q", .enqueue_ops = {operations_.add("enqueue", [&] { queue.enqueue(); })}});
  Coordinator coordinator;
  const CoordinatedThreads threads = create_threads(runner, session_, coordinator);
  std::atomic<bool> closing = false;
  std::jthread closer([&] {
    queue.wait_until_full();
    closing = true;
    queue.close();  // As an engine does with all queues of a session.
  });
  EXPECT_THROW(coordinator.join(), CancelledError);
  EXPECT_TRUE(closing);
}

// CQ-8: the first runs can be waited for, with a limit.
TEST_F(QueueRunnerThreadsTest, WaitsForTheFirstRuns) {
  const LogCapture log;
  Queue empty(1);
  const Output quick = operations_.count_up_to("quick", 3, count_);
  const Output slow = operations_.add("slow", [&] { empty.dequeue(); });
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {quick, slow}});
  const CoordinatedThreads threads = create_threads(runner, session_);
  EXPECT_THAT([&] { runner.wait_for_first_runs(session_, std::chrono::milliseconds(1)); },
              ThrowsMessage<DeadlineExceededError>(
                  AnyOf(HasSubstr("1 of 2 enqueue"), HasSubstr("2 of 2 enqueue"))));
  empty.enqueue();
  EXPECT_NO_THROW(runner.wait_for_first_runs(session_, std::chrono::hours(1)));
  empty.close();
  wait_for(threads);

  QueueRunner broken(
      {.queue_name = "q", .enqueue_ops = {operations_.fails("bad", DataLossError("rotten"))}});
  const CoordinatedThreads failing = create_threads(broken, session_);
  EXPECT_THROW(broken.wait_for_first_runs(session_, std::chrono::hours(1)), DataLossError);
}

// CQ-9: a stop ends two runners, one of which feeds the other.
TEST_F(QueueRunnerThreadsTest, AStopEndsAChain) {
  Queue first(3);
  Queue second(2);
  QueueRunner source({.queue_name = "first",
                      .enqueue_ops = {operations_.add("make", [&] { first.enqueue(); })},
                      .close_op = operations_.add("close_first", [&] { first.close(); }),
                      .cancel_op = operations_.add("cancel_first", [&] { first.close(); })});
  QueueRunner link({.queue_name = "second",
                    .enqueue_ops = {operations_.add("move",
                                                    [&] {
                                                      first.dequeue();
                                                      second.enqueue();
                                                    })},
                    .close_op = operations_.add("close_second", [&] { second.close(); }),
                    .cancel_op = operations_.add("cancel_second", [&] { second.close(); })});
  Coordinator coordinator;
  create_threads(source, session_, coordinator);
  create_threads(link, session_, coordinator);
  first.wait_until_full();
  coordinator.request_stop({"the program", "it has seen enough"});
  EXPECT_NO_THROW(coordinator.join());
}

// CQ-10: a callback is called for errors, and not for the end of the data.
TEST_F(QueueRunnerThreadsTest, CallsBackOnErrors) {
  const LogCapture log;
  std::vector<std::string> heard;
  const Output op = operations_.count_up_to("op", 3, count_, DataLossError("rotten"));
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {op}, .on_error = [&](const auto& error) {
                        heard.push_back(describe(error));
                      }});
  wait_for(create_threads(runner, session_));
  EXPECT_THAT(heard, ElementsAre("rotten"));
  const Output end = operations_.count_up_to("end", 3, count_);
  QueueRunner clean({.queue_name = "q", .enqueue_ops = {end}, .on_error = [&](const auto& error) {
                       heard.push_back(describe(error));
                     }});
  wait_for(create_threads(clean, session_));
  EXPECT_THAT(heard, SizeIs(1));
}

TEST_F(QueueRunnerThreadsTest, ACancelThatFailsIsLogged) {
  const LogCapture log;
  const Output op = operations_.count_up_to("op", 3, count_);
  const Output cancel = operations_.fails("cancel", NotFoundError("no such queue"));
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {op}, .cancel_op = cancel});
  Coordinator coordinator;
  coordinator.request_stop({"the program", "it is done"});
  create_threads(runner, session_, coordinator);
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_TRUE(log.contains("cancelling failed: no such queue"));
}

TEST_F(QueueRunnerThreadsTest, LogsErrorsOfOtherLoopsWithoutACoordinator) {
  class Careless final : public BackgroundLoop {
   public:
    const std::string& name() const override { return name_; }
    std::vector<BackgroundTask> tasks(Session&, std::stop_token) override {
      return {{"careless", [] { throw DataLossError("rotten"); }}};
    }

   private:
    const std::string name_ = "careless";
  };
  const LogCapture log;
  Careless loop;
  wait_for(create_threads(loop, session_));
  EXPECT_TRUE(log.contains("thread \"careless\": rotten"));
}

// A loop of a monitored session that records when it was started and stopped.
class Diary final : public BackgroundLoop {
 public:
  explicit Diary(std::vector<std::string>& lines) : lines_(lines) {}

  const std::string& name() const override { return name_; }
  std::vector<BackgroundTask> tasks(Session&, std::stop_token stop) override {
    lines_.emplace_back("started");
    return {{"diary", [this, stop] {
               std::mutex mutex;
               std::unique_lock lock(mutex);
               std::condition_variable_any().wait(lock, stop, [] { return false; });
               ++num_stopped;
               if (error) std::rethrow_exception(error);
             }}};
  }

  std::atomic<int> num_stopped = 0;
  std::exception_ptr error;

 private:
  const std::string name_ = "diary";
  std::vector<std::string>& lines_;
};

class CreationHook final : public SessionRunHook {
 public:
  explicit CreationHook(std::vector<std::string>& lines) : lines_(lines) {}
  void after_create_session(Session&, Coordinator&) override {
    lines_.emplace_back("after_create_session");
  }

 private:
  std::vector<std::string>& lines_;
};

class LoopsOfAMonitoredSessionTest : public testing::Test {
 protected:
  LoopsOfAMonitoredSessionTest() { graph_.add_background_loop(diary_); }

  std::unique_ptr<MonitoredSession> session() {
    return std::make_unique<MonitoredSession>(std::make_unique<ChiefSessionCreator>(graph_),
                                              HookList{CreationHook(lines_)});
  }

  ScriptedGraph graph_;
  std::vector<std::string> lines_;
  const std::shared_ptr<Diary> diary_ = std::make_shared<Diary>(lines_);
};

TEST_F(LoopsOfAMonitoredSessionTest, StartBeforeHooksSeeTheSessionAndEndWithIt) {
  const auto monitored = session();
  EXPECT_THAT(lines_, ElementsAre("started", "after_create_session"));
  monitored->run(graph_.train());
  EXPECT_EQ(diary_->num_stopped, 0);
  monitored->close();
  EXPECT_EQ(diary_->num_stopped, 1);
}

TEST_F(LoopsOfAMonitoredSessionTest, StartAgainWithARecoveredSession) {
  const LogCapture log;
  graph_.fail_run(1, AbortedError("the worker is gone"));
  const auto monitored = session();
  monitored->run(graph_.train());
  EXPECT_THAT(lines_,
              ElementsAre("started", "after_create_session", "started", "after_create_session"));
  EXPECT_EQ(diary_->num_stopped, 1) << "the first session's";
  monitored->close();
  EXPECT_EQ(diary_->num_stopped, 2);
}

TEST_F(LoopsOfAMonitoredSessionTest, AnErrorOfARunnerEndsTheRun) {
  const LogCapture log;
  graph_.value("broken", []() -> Tensor { throw DataLossError("rotten"); });
  graph_.add_background_loop(std::make_shared<QueueRunner>(
      QueueRunnerOptions{.queue_name = "q", .enqueue_ops = {graph_.output("broken")}}));
  const auto monitored = session();
  while (!monitored->should_stop()) monitored->run(graph_.train());
  EXPECT_THAT([&] { monitored->close(); }, ThrowsMessage<DataLossError>("rotten"));
}

TEST_F(LoopsOfAMonitoredSessionTest, TheEndOfTheirDataDoesNot) {
  std::latch ended(1);
  graph_.value("read", []() -> Tensor { throw OutOfRangeError("the data ended"); });
  graph_.value("close", [&]() -> Tensor {
    ended.count_down();
    return Tensor();
  });
  graph_.add_background_loop(
      std::make_shared<QueueRunner>(QueueRunnerOptions{.queue_name = "q",
                                                       .enqueue_ops = {graph_.output("read")},
                                                       .close_op = graph_.output("close")}));
  const auto monitored = session();
  ended.wait();
  EXPECT_FALSE(monitored->should_stop()) << "there may be elements left in the queue";
  monitored->run(graph_.train());
  EXPECT_NO_THROW(monitored->close());
}

}  // namespace
}  // namespace crochet
