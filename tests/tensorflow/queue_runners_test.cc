// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Queue runners with TensorFlow's own queues (queues.meta of make_monitored_graphs.py): the cases
// that crochet/training/background_threads_test.cc tests with callables, and training on a queue.
#include <atomic>
#include <latch>
#include <stop_token>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/training/coordinator.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr std::chrono::hours kLong(1);

std::vector<std::string> names_of(const CoordinatedThreads& threads) {
  std::vector<std::string> names;
  for (const auto& thread : threads) names.push_back(thread->name());
  return names;
}

void wait_for(const CoordinatedThreads& threads) {
  for (const auto& thread : threads) thread->wait();
}

class TensorFlowQueueTest : public testing::Test {
 protected:
  std::unique_ptr<Session> new_session() {
    auto session = graph_.new_session("");
    session->run({init_, local_init_});
    return session;
  }
  Output operation(const char* name) { return graph_.operation(name); }
  int64_t value(const char* name) { return session_->run(name).scalar<int64_t>(); }
  // Fills `second` from `first`.
  QueueRunnerOptions link() {
    return {.queue_name = "second",
            .enqueue_ops = {operation("fill_second")},
            .close_op = operation("close_second"),
            .cancel_op = operation("cancel_second")};
  }
  QueueRunnerOptions source() {
    return {.queue_name = "first",
            .enqueue_ops = {operation("fill_first")},
            .close_op = operation("close_first"),
            .cancel_op = operation("cancel_first")};
  }

  LogCapture log_;
  tensorflow::Graph graph_ = tensorflow::import_golden("queues");
  Output init_ = graph_.default_init_op();
  Output local_init_ = graph_.default_local_init_op();
  std::unique_ptr<Session> session_ = new_session();
};

// QR-1, CQ-1: an operation runs until its data ends, which is not an error, with or without a
// coordinator.
TEST_F(TensorFlowQueueTest, RunsAnOperationUntilItsDataEnds) {
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {operation("count_three")}});
  const CoordinatedThreads threads = create_threads(runner, *session_);
  EXPECT_THAT(names_of(threads), ElementsAre("QueueRunnerThread-q-count_three"));
  wait_for(threads);
  EXPECT_EQ(value("read_three"), 3);
  EXPECT_THAT(runner.exceptions_raised(), IsEmpty());

  Coordinator coordinator;
  QueueRunner other({.queue_name = "q", .enqueue_ops = {operation("count_thirty")}});
  create_threads(other, *session_, coordinator);
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(value("read_thirty"), 30);
}

// QR-2: two operations run in two threads, each to its own limit.
TEST_F(TensorFlowQueueTest, RunsEachOperationToItsOwnLimit) {
  QueueRunner runner(
      {.queue_name = "q", .enqueue_ops = {operation("count_three"), operation("count_thirty")}});
  wait_for(create_threads(runner, *session_));
  EXPECT_EQ(value("read_three"), 3);
  EXPECT_EQ(value("read_thirty"), 30);
}

// QR-3: without a coordinator the errors of both threads are kept, and logged.
TEST_F(TensorFlowQueueTest, KeepsErrorsWithoutACoordinator) {
  QueueRunner runner(
      {.queue_name = "q", .enqueue_ops = {operation("not_found"), operation("invalid")}});
  wait_for(create_threads(runner, *session_));
  std::vector<std::string> messages;
  for (const auto& error : runner.exceptions_raised()) messages.push_back(describe(error));
  EXPECT_THAT(messages, testing::UnorderedElementsAre(HasSubstr("/nowhere/at/all"),
                                                      HasSubstr("operation \"invalid")));
  EXPECT_TRUE(log_.contains("queue \"q\""));
}

// QR-4, CQ-5: the end of the queue it reads from ends it cleanly, and closes its own.
TEST_F(TensorFlowQueueTest, PropagatesTheEndOfTheData) {
  QueueRunner runner(link());
  Coordinator coordinator;
  create_threads(runner, *session_, coordinator);
  session_->run(operation("fill_first"));
  EXPECT_EQ(value("take_second"), 7);
  session_->run(operation("close_first"));
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_TRUE(session_->run("second_is_closed").scalar<bool>());
  EXPECT_THROW(session_->run("take_second"), OutOfRangeError);
}

// QR-5: with a coordinator that has already stopped no operation is run; it is only cancelled.
TEST_F(TensorFlowQueueTest, RunsNothingAfterTheStop) {
  QueueRunner runner({.queue_name = "q",
                      .enqueue_ops = {operation("count_three")},
                      .cancel_op = operation("cancel_second")});
  Coordinator coordinator;
  coordinator.request_stop(StopRequest{"the program", "it is done"});
  EXPECT_THAT(names_of(create_threads(runner, *session_, coordinator)),
              ElementsAre("QueueRunnerThread-q-count_three", "QueueRunnerThread-q-close_on_stop"));
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(value("read_three"), 0);
  EXPECT_TRUE(session_->run("second_is_closed").scalar<bool>());
}

// QR-6, CQ-4: an error is thrown by join.
TEST_F(TensorFlowQueueTest, AnErrorStopsTheCoordinator) {
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {operation("not_found")}});
  Coordinator coordinator;
  wait_for(create_threads(runner, *session_, coordinator));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_THAT(
      [&] { coordinator.join(); },
      ThrowsMessage<NotFoundError>(AllOf(HasSubstr("not_found"), HasSubstr("/nowhere/at/all"))));
}

// QR-7: a stop cancels an operation that waits for room.
TEST_F(TensorFlowQueueTest, AStopCancelsAWaitingOperation) {
  QueueRunner runner(source());
  Coordinator coordinator;
  create_threads(runner, *session_, coordinator);
  // One element fits; the next one waits, or is about to.
  runner.wait_for_first_runs(*session_, kLong);
  coordinator.request_stop(StopRequest{"the program", "it has seen enough"});
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(session_->run("size_of_first").scalar<int32_t>(), 1);
}

// QR-8: each session has its own threads and queues.
TEST_F(TensorFlowQueueTest, ServesSeveralSessions) {
  const auto other = new_session();
  const Output count = operation("count_three");
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {count, count}});
  const CoordinatedThreads threads = create_threads(runner, *session_);
  const CoordinatedThreads more = create_threads(runner, *other);
  EXPECT_THAT(threads, SizeIs(2));
  EXPECT_THAT(more, SizeIs(2));
  wait_for(threads);
  wait_for(more);
  EXPECT_EQ(value("read_three"), 3);
  EXPECT_EQ(other->run("read_three").scalar<int64_t>(), 3);
}

// QR-9: a second creation for the same session has no effect while the first threads run.
TEST_F(TensorFlowQueueTest, ServesASessionOnce) {
  QueueRunner runner(link());
  Coordinator coordinator;
  EXPECT_THAT(create_threads(runner, *session_, coordinator), SizeIs(2));  // Waits for data.
  EXPECT_THAT(create_threads(runner, *session_, coordinator), IsEmpty());
  session_->run(operation("close_first"));
  EXPECT_NO_THROW(coordinator.join());
}

// QR-10: once all have ended a second round works, and errors of the first are dropped.
TEST_F(TensorFlowQueueTest, StartsAfreshOnceAllHaveEnded) {
  QueueRunner runner(
      {.queue_name = "q", .enqueue_ops = {operation("count_three"), operation("not_found")}});
  for (int round = 0; round < 2; ++round) {
    const CoordinatedThreads threads = create_threads(runner, *session_);
    EXPECT_THAT(threads, SizeIs(2));
    wait_for(threads);
    EXPECT_THAT(runner.exceptions_raised(), SizeIs(1));
    session_->run(local_init_);
  }
}

// QR-12: the queue runners of the graph are started.
TEST_F(TensorFlowQueueTest, StartsTheQueueRunnersOfTheGraph) {
  Coordinator coordinator;
  EXPECT_THAT(names_of(start_queue_runners(*session_, coordinator)),
              ElementsAre("QueueRunnerThread-examples-fill_examples",
                          "QueueRunnerThread-examples-close_on_stop"));
  for (int64_t i = 1; i <= 5; ++i) EXPECT_EQ(value("example"), i);
  EXPECT_THROW(value("example"), OutOfRangeError);
  EXPECT_NO_THROW(coordinator.join());
}

// QR-16: a runner is created from its definition; one without codes ends at OutOfRangeError.
TEST_F(TensorFlowQueueTest, ReadsTheDefinitionsOfQueueRunners) {
  const auto& runners = graph_.definition().queue_runners;
  ASSERT_THAT(runners, SizeIs(1));
  EXPECT_EQ(runners[0].queue_name, "examples");
  EXPECT_THAT(runners[0].enqueue_op_names, ElementsAre("fill_examples"));
  EXPECT_TRUE(graph_.find_operation(runners[0].close_op_name));
  EXPECT_TRUE(graph_.find_operation(runners[0].cancel_op_name));
  EXPECT_THAT(runners[0].queue_closed_exception_types, ElementsAre(Code::kOutOfRange));

  std::string bytes = tensorflow::golden_bytes("queues");
  const std::string_view codes("\x2a\x01\x0b");
  const size_t at = bytes.find(codes);
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(bytes.find(codes, at + 1), std::string::npos);
  bytes[at] = '\x72';  // An unknown field.
  auto graph = tensorflow::Graph::from_meta_graph(bytes, "x.meta");
  EXPECT_THAT(graph.definition().queue_runners.at(0).queue_closed_exception_types, IsEmpty());
  const Output init = graph.default_local_init_op();
  const auto session = graph.new_session("");
  session->run(init);
  Coordinator coordinator;
  start_queue_runners(*session, coordinator);
  int64_t sum = 0;
  EXPECT_THROW(
      {
        while (true) sum += session->run("example").scalar<int64_t>();
      },
      OutOfRangeError);
  EXPECT_NO_THROW(coordinator.join());
  EXPECT_EQ(sum, 1 + 2 + 3 + 4 + 5);
}

// CQ-2: the errors that count as the end of the data can be chosen.
TEST_F(TensorFlowQueueTest, SupportsSeveralErrorsAsTheEndOfTheData) {
  QueueRunner runner({.queue_name = "q",
                      .enqueue_ops = {operation("count_three"), operation("not_found")},
                      .queue_closed_codes = {Code::kOutOfRange, Code::kNotFound}});
  Coordinator coordinator({.clean_stop_codes = {}});
  create_threads(runner, *session_, coordinator);
  EXPECT_NO_THROW(coordinator.join());
}

// CQ-3: a close that fails is an error.
TEST_F(TensorFlowQueueTest, ReportsACloseThatFails) {
  QueueRunner runner({.queue_name = "q",
                      .enqueue_ops = {operation("count_three")},
                      .close_op = operation("not_found")});
  Coordinator coordinator;
  wait_for(create_threads(runner, *session_, coordinator));
  EXPECT_THROW(coordinator.join(), NotFoundError);
}

// CQ-6: without a stop an operation waits until its session is closed, which cancels it: an error.
TEST_F(TensorFlowQueueTest, ClosingTheSessionFailsAWaitingOperation) {
  QueueRunner runner({.queue_name = "second", .enqueue_ops = {operation("fill_second")}});
  Coordinator coordinator;
  create_threads(runner, *session_, coordinator);
  session_->run(operation("fill_first"));
  runner.wait_for_first_runs(*session_, kLong);  // The second one waits for data.
  std::jthread closer([&] { session_->close(); });
  try {
    coordinator.join();
    ADD_FAILURE() << "the operation has stopped waiting";
  } catch (const CancelledError&) {
  } catch (const FailedPreconditionError&) {  // It had not started to wait.
  }
}

// CQ-8: the first runs can be waited for, with a limit.
TEST_F(TensorFlowQueueTest, WaitsForTheFirstRuns) {
  QueueRunner runner(link());
  Coordinator coordinator;
  create_threads(runner, *session_, coordinator);
  EXPECT_THROW(runner.wait_for_first_runs(*session_, std::chrono::milliseconds(1)),
               DeadlineExceededError);
  session_->run(operation("fill_first"));
  EXPECT_NO_THROW(runner.wait_for_first_runs(*session_, kLong));
  coordinator.request_stop(StopRequest{"the program", "it is done"});
  session_->run(operation("close_first"));
  EXPECT_NO_THROW(coordinator.join());
}

// CQ-9: a stop ends two runners, one of which feeds the other.
TEST_F(TensorFlowQueueTest, AStopEndsAChain) {
  QueueRunner from(source());
  QueueRunner to(link());
  Coordinator coordinator;
  create_threads(from, *session_, coordinator);
  create_threads(to, *session_, coordinator);
  EXPECT_EQ(value("take_second"), 7);
  coordinator.request_stop(StopRequest{"the program", "it has seen enough"});
  EXPECT_NO_THROW(coordinator.join());
}

// CQ-10: a callback is called for errors, but not for the end of the data.
TEST_F(TensorFlowQueueTest, CallsBackOnErrors) {
  std::atomic<int> num_heard = 0;
  const auto hear = [&](const std::exception_ptr&) { ++num_heard; };
  QueueRunner broken(
      {.queue_name = "q", .enqueue_ops = {operation("not_found")}, .on_error = hear});
  wait_for(create_threads(broken, *session_));
  EXPECT_EQ(num_heard, 1);
  QueueRunner sound(
      {.queue_name = "q", .enqueue_ops = {operation("count_three")}, .on_error = hear});
  wait_for(create_threads(sound, *session_));
  EXPECT_EQ(num_heard, 1);
}

// Performs an action before the third attempted run.
class ThirdRunHook final : public SessionRunHook {
 public:
  explicit ThirdRunHook(std::function<void(Coordinator& coordinator)> action)
      : action_(std::move(action)) {}
  void after_create_session(Session&, Coordinator& coordinator) override {
    coordinator_ = &coordinator;
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    if (++num_runs_ == 3) action_(*coordinator_);
    return {};
  }

 private:
  const std::function<void(Coordinator&)> action_;
  Coordinator* coordinator_ = nullptr;  // Of the current session.
  int num_runs_ = 0;
};

// Fails the first session, from its own thread, on request.
class LosingLoop final : public BackgroundLoop {
 public:
  const std::string& name() const override { return name_; }
  std::vector<BackgroundTask> tasks(Session&, std::stop_token) override {
    if (std::exchange(has_begun_, true)) return {};
    return {{"loser", [this] {
               go_.wait();
               throw UnavailableError("the server is away");
             }}};
  }
  void lose() { go_.count_down(); }

 private:
  const std::string name_ = "losing";
  bool has_begun_ = false;
  std::latch go_{1};
};

class TrainOnQueueTest : public testing::Test {
 protected:
  RunReport train_with(HookList hooks) {
    return train({.graph = graph_,
                  .checkpoint_dir = "run",
                  .hooks = std::move(hooks),
                  .save_checkpoint_steps = 1,
                  .saver = {.unsaved_state = UnsavedState::kWarn},
                  .log_step_count_steps = 0,
                  .files = &files_},
                 [&](MonitoredSession& session) {
                   const Operation train_op = graph_.operation("train");
                   while (!session.should_stop()) session.run(train_op);
                 });
  }
  // The sum of the dequeued elements in the last checkpoint.
  int64_t total() {
    const auto newest = latest_checkpoint(files_, "run");
    return newest ? CheckpointReader(*newest, files_).read("total").scalar<int64_t>() : -1;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  tensorflow::Graph graph_ = tensorflow::import_golden("queues");
};

// The contents of a queue are lost with its session.
TEST_F(TrainOnQueueTest, IsRefusedUnlessTheQueueMayBeLost) {
  EXPECT_THAT(
      [&] {
        train({.graph = graph_, .checkpoint_dir = "run", .files = &files_},
              [](MonitoredSession&) {});
      },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("\"examples\" (FIFOQueueV2)")));
  EXPECT_EQ(total(), -1);
}

TEST_F(TrainOnQueueTest, EndsWithTheData) {
  const RunReport report = train_with({});
  EXPECT_EQ(report.last_step, 5);
  EXPECT_EQ(report.stop.reason, "the data ended");
  EXPECT_EQ(total(), 1 + 2 + 3 + 4 + 5);
  EXPECT_THAT(log_.lines(Severity::kError), IsEmpty());
  EXPECT_THAT(log_.lines(Severity::kWarning), ElementsAre(HasSubstr("lack state of the graph")));
}

// The runner waits for space in its queue; closing ends that without an error.
TEST_F(TrainOnQueueTest, StopsTheThreadThatFillsTheQueue) {
  const RunReport report = train_with({StopAtStepHook({.last_step = 2})});
  EXPECT_EQ(report.last_step, 2);
  EXPECT_EQ(total(), 1 + 2);
  EXPECT_THAT(log_.lines(Severity::kError), IsEmpty());
  EXPECT_THAT(log_.lines(Severity::kWarning), ElementsAre(HasSubstr("lack state of the graph")));
}

TEST_F(TrainOnQueueTest, AnErrorOfAThreadFailsTheRun) {
  graph_.add_background_loop(std::make_shared<QueueRunner>(
      QueueRunnerOptions{.queue_name = "bad", .enqueue_ops = {graph_.operation("not_found")}}));
  // The data does not end before the error occurs.
  const auto wait = [](Coordinator& coordinator) { coordinator.wait_for_stop(); };
  EXPECT_THAT([&] { train_with({ThirdRunHook(wait)}); },
              ThrowsMessage<NotFoundError>(HasSubstr("/nowhere/at/all")));
}

// Queues and local variables belong to the new session: the data restarts, the training does not.
TEST_F(TrainOnQueueTest, RecoversWithNewQueues) {
  const RunReport report =
      train_with({ThirdRunHook([](Coordinator&) { throw AbortedError("preempted"); })});
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_EQ(report.last_step, 2 + 5);
  EXPECT_EQ(total(), (1 + 2) + (1 + 2 + 3 + 4 + 5));
}

TEST_F(TrainOnQueueTest, RecoversFromAThreadsError) {
  const auto loop = std::make_shared<LosingLoop>();
  graph_.add_background_loop(loop);
  const RunReport report = train_with({ThirdRunHook([&](Coordinator& coordinator) {
    loop->lose();
    coordinator.wait_for_stop();
  })});
  EXPECT_EQ(report.recoveries, 1);
  // The third run may or may not have found data; the second session had all of it.
  EXPECT_GE(report.last_step, 2 + 5);
  EXPECT_GE(total(), (1 + 2) + (1 + 2 + 3 + 4 + 5));
}

}  // namespace
}  // namespace crochet
