// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The same hooks and objects see the same with the local engine and with TensorFlow: calls,
// their order, steps and values to the bit; and leave the same checkpoints and curves.
#include <functional>
#include <utility>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/crochet.h"
#include "crochet/eigen.h"
#include "crochet/fmt.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/training/coordinator.h"
#include "failing_session.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

// The graph of make_monitored_graphs.py: loss = w * x, then w -= 0.5 x, then the step.
struct TensorFlowTraining {
  tensorflow::Graph graph = tensorflow::import_golden("hooked");
  Operation train = graph.operation("train");
};

// The same graph, made of callables.
struct LocalTraining {
  LocalTraining() {
    const Output x = graph.placeholder<float>("x", {2});
    const auto w = graph.variable("w", Tensor::from<float>({1, 2}));
    const Operation loss = graph.op(
        "loss", {x, w}, [](ConstVector<float> x, ConstVector<float> w) { return x.dot(w); });
    const Operation update = graph.op("update", {x, local::update(w)},
                                      [](ConstVector<float> x, Vector<float> w) { w -= 0.5F * x; });
    train = graph.group("train", {graph.increment_global_step({update})});
    graph.add_to_collection(kSummariesCollection, graph.name("curve", loss[0]));
  }

  local::Graph graph;
  Operation train;
};

std::string text_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::kInt64) return fmt::format("{}", tensor.flat<int64_t>());
  std::vector<std::string> all;
  for (const float value : tensor.flat<float>()) all.push_back(fmt::format("{:a}", value));
  return fmt::format("[{}]", fmt::join(all, ", "));
}

// Records each call, and feeds "x". Of two recorders, the second one feeds nothing.
class Recorder final : public SessionRunHook {
 public:
  using Action = std::function<void(SessionRunContext& context, Coordinator& coordinator)>;

  Recorder(std::string label, bool feeds) : label_(std::move(label)), feeds_(feeds) {}

  // Sets an action for the n-th run, counted from 1 with failed ones, in before_run or after_run.
  void in_before_run(int n, Action action) { before_[n] = std::move(action); }
  void in_after_run(int n, Action action) { after_[n] = std::move(action); }
  // The calls recorded since the last take().
  std::vector<std::string> take() {
    num_runs_ = 0;
    return std::exchange(calls_, {});
  }

  void begin(Graph& graph) override {
    fetches_ = Fetches(Fetches::List{graph.global_step(), graph.output("loss")});
    x_ = graph.output("x");
    note("begin, {}final, {} variables", graph.finalized() ? "" : "not ", graph.variables().size());
  }
  void after_create_session(Session& session, Coordinator& coordinator) override {
    coordinator_ = &coordinator;
    note("after_create_session, step {}, {}", read_global_step(session), state_of(session));
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    ++num_runs_;
    note("before_run {}, {} fed", num_runs_, context.original_args().feeds.size());
    if (const auto found = before_.find(num_runs_); found != before_.end())
      found->second(context, *coordinator_);
    SessionRunArgs args{.fetches = fetches_};
    const auto n = static_cast<float>(num_runs_);
    if (feeds_) args.feeds = {{x_, Tensor::from<float>({n, 0.25F * n})}};
    return args;
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    note("after_run {}, step {}, loss {}, then step {}", num_runs_,
         values.results[0].scalar<int64_t>(), text_of(values.results[1].tensor()),
         read_global_step(context.session()));
    if (const auto found = after_.find(num_runs_); found != after_.end())
      found->second(context, *coordinator_);
  }
  void end(Session& session) override {
    note("end, step {}, {}", read_global_step(session), state_of(session));
  }
  void on_error(std::exception_ptr error) override { note("on_error, {}", describe(error)); }

 private:
  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    calls_.push_back(label_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }
  static std::string state_of(Session& session) {
    std::map<std::string, std::string> values;
    for (const NamedTensor& tensor : session.snapshot(session.graph().variables()).tensors())
      values[tensor.name] = text_of(tensor.tensor);
    return fmt::format("{}", values);
  }

  const std::string label_;
  const bool feeds_;
  std::map<int, Action> before_;
  std::map<int, Action> after_;
  Fetches fetches_;
  Output x_;
  Coordinator* coordinator_ = nullptr;  // Of the current session.
  int num_runs_ = 0;
  std::vector<std::string> calls_;
};

// The results of one engine's run.
struct Seen {
  std::vector<std::string> first;   // Calls of the first recorder.
  std::vector<std::string> second;  // Calls of the second one.
  std::string end;                  // The report, or the error.
  std::vector<std::string> checkpoints;
  std::vector<std::string> points;  // Of curves.
};

std::vector<std::string> points_in(FileSystem& files) {
  std::vector<std::string> points;
  for (const std::string& path : event_files(files, "run"))
    for (const Event& event : read_event_file(files, path))
      for (const SummaryValue& value : event.values)
        if (!value.tag.starts_with("~checkpoint/"))
          points.push_back(fmt::format("{} {} {:a}", value.tag, event.step, value.simple_value));
  return points;
}

class SameHooksTest : public testing::Test {
 protected:
  // Trains with the recorders and `stop_`, saving every other step.
  template <typename Training>
  Seen train_on() {
    MemoryFileSystem files;
    FakeClock clock;
    Training training;
    Seen seen;
    try {
      const RunReport report = train({.graph = training.graph,
                                      .checkpoint_dir = "run",
                                      .hooks = {first_, stop_, second_},
                                      .save_checkpoint_steps = 2,
                                      .save_summaries_steps = 2,
                                      .log_step_count_steps = 0,
                                      .files = &files,
                                      .clock = &clock},
                                     [&](MonitoredSession& session) {
                                       while (!session.should_stop())
                                         body_(session, training.train);
                                     });
      seen.end = fmt::format("{}, {} recoveries", report, report.recoveries);
    } catch (...) {
      seen.end = describe(std::current_exception());
    }
    seen.checkpoints = list_checkpoints(files, "run", "model.ckpt");
    seen.points = points_in(files);
    return note(std::move(seen));
  }
  // The same in a bare monitored session whose n-th engine run, counted from 1, throws `error`.
  template <typename Training, typename Error>
  Seen fail_on(int n, const Error& error) {
    MemoryFileSystem files;
    Training training;
    Seen seen;
    const auto saver = std::make_shared<Saver>(SaverOptions{.files = &files});
    const auto scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver});
    auto chief = std::make_unique<ChiefSessionCreator>(
        training.graph, ChiefSessionCreatorOptions{.scaffold = scaffold, .checkpoint_dir = "run"});
    const HookList hooks = {
        first_, stop_, second_,
        CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .scaffold = scaffold})};
    try {
      MonitoredSession session(std::make_unique<FailingSessionCreator>(
                                   std::move(chief), training.train, n, [error] { throw error; }),
                               hooks);
      run_in_scope(session, [&] {
        while (!session.should_stop()) session.run(training.train);
      });
      seen.end = fmt::format("{} recoveries", session.num_recoveries());
    } catch (...) {
      seen.end = describe(std::current_exception());
    }
    seen.checkpoints = list_checkpoints(files, "run", "model.ckpt");
    return note(std::move(seen));
  }

  Seen note(Seen seen) {
    seen.first = first_->take();
    seen.second = second_->take();
    return seen;
  }
  static void expect_same(const Seen& local, const Seen& tensorflow) {
    EXPECT_EQ(tensorflow.first, local.first);
    EXPECT_EQ(tensorflow.second, local.second);
    EXPECT_EQ(tensorflow.end, local.end);
    EXPECT_EQ(tensorflow.checkpoints, local.checkpoints);
    EXPECT_EQ(tensorflow.points, local.points);
  }

  std::shared_ptr<Recorder> first_ = std::make_shared<Recorder>("first", true);
  std::shared_ptr<Recorder> second_ = std::make_shared<Recorder>("second", false);
  std::shared_ptr<StopAtStepHook> stop_ =
      std::make_shared<StopAtStepHook>(StopAtStepHookOptions{.last_step = 5});
  std::function<void(MonitoredSession&, Operation)> body_ =
      [](MonitoredSession& session, Operation train) { session.run(train); };
  LogCapture log_;
};

TEST_F(SameHooksTest, SeeTheSameSteps) {
  stop_ = std::make_shared<StopAtStepHook>(StopAtStepHookOptions{.last_step = 2});
  const Seen local = train_on<LocalTraining>();
  expect_same(local, train_on<TensorFlowTraining>());
  EXPECT_THAT(
      local.first,
      ElementsAre(
          "first: begin, not final, 2 variables",
          R"(first: after_create_session, step 0, {"global_step": "[0]", "w": "[0x1p+0, 0x1p+1]"})",
          "first: before_run 1, 0 fed", "first: after_run 1, step 0, loss [0x1.8p+0], then step 1",
          "first: before_run 2, 0 fed", "first: after_run 2, step 1, loss [0x1.fp+0], then step 2",
          R"(first: end, step 2, {"global_step": "[2]", "w": "[-0x1p-1, 0x1.ap+0]"})"));
  EXPECT_EQ(local.second.size(), local.first.size());
  EXPECT_THAT(local.checkpoints, ElementsAre("run/model.ckpt-0", "run/model.ckpt-2"));
  EXPECT_THAT(local.points, ElementsAre("curve 1 0x1.8p+0"));
}

TEST_F(SameHooksTest, SeeTheSameRecoveryFromAHooksError) {
  second_->in_before_run(4, [](auto&, auto&) { throw UnavailableError("the server is away"); });
  const Seen local = train_on<LocalTraining>();
  expect_same(local, train_on<TensorFlowTraining>());
  // Step 3 is lost with the session, and repeated from the checkpoint of step 2.
  EXPECT_THAT(local.first, Contains(HasSubstr("after_create_session, step 2")));
  EXPECT_THAT(local.end, HasSubstr("1 recoveries"));
  EXPECT_THAT(local.first,
              IsSupersetOf({HasSubstr("before_run 4"), HasSubstr("after_run 5, step 2"),
                            HasSubstr("end, step 5")}));
}

TEST_F(SameHooksTest, SeeTheSameRecoveryFromAFailedRun) {
  for (const auto& fail : std::vector<std::pair<std::function<Seen()>, std::function<Seen()>>>{
           {[&] { return fail_on<LocalTraining>(4, UnavailableError("the server is away")); },
            [&] { return fail_on<TensorFlowTraining>(4, UnavailableError("the server is away")); }},
           {[&] { return fail_on<LocalTraining>(2, AbortedError("preempted")); },
            [&] { return fail_on<TensorFlowTraining>(2, AbortedError("preempted")); }}}) {
    const Seen local = fail.first();
    expect_same(local, fail.second());
    EXPECT_EQ(local.end, "1 recoveries");
    EXPECT_THAT(local.first, Contains(HasSubstr("end, step 5")));
  }
}

TEST_F(SameHooksTest, SeeTheSameErrorThatEndsTheRun) {
  const InternalError error("out of order");
  const Seen local = fail_on<LocalTraining>(3, error);
  expect_same(local, fail_on<TensorFlowTraining>(3, error));
  EXPECT_THAT(local.end, HasSubstr("out of order"));
  EXPECT_THAT(local.first.back(), HasSubstr("first: on_error, "));
  EXPECT_THAT(local.second.back(), HasSubstr("second: on_error, "));
}

TEST_F(SameHooksTest, SeeTheSameStopThatAHookAsksFor) {
  second_->in_after_run(
      3, [](SessionRunContext& context, auto&) { context.request_stop("it has seen enough"); });
  const Seen local = train_on<LocalTraining>();
  expect_same(local, train_on<TensorFlowTraining>());
  EXPECT_THAT(local.first.back(), HasSubstr("end, step 3"));
  EXPECT_THAT(local.end, HasSubstr("it has seen enough"));
}

TEST_F(SameHooksTest, SeeTheSameStopThatAThreadAsksFor) {
  first_->in_after_run(2, [](auto&, Coordinator& coordinator) {
    coordinator
        .start_thread("watcher",
                      [&coordinator] {
                        coordinator.request_stop(StopRequest{"watcher", "it is late"});
                      })
        ->wait();
  });
  const Seen local = train_on<LocalTraining>();
  expect_same(local, train_on<TensorFlowTraining>());
  EXPECT_THAT(local.first.back(), HasSubstr("end, step 2"));
  EXPECT_THAT(local.end, HasSubstr("it is late"));
}

TEST_F(SameHooksTest, SeeTheSameStopAsTheProgramAsksFor) {
  body_ = [](MonitoredSession& session, Operation train) {
    session.run(train);
    if (session.current_step() == 4) session.request_stop("that will do");
  };
  const Seen local = train_on<LocalTraining>();
  expect_same(local, train_on<TensorFlowTraining>());
  EXPECT_THAT(local.first.back(), HasSubstr("end, step 4"));
}

// A stop that was requested in a failed session is carried over.
TEST_F(SameHooksTest, SeeTheSameStopBeforeARecovery) {
  first_->in_before_run(
      3, [](SessionRunContext& context, auto&) { context.request_stop("it has seen enough"); });
  second_->in_before_run(3, [](auto&, auto&) { throw AbortedError("preempted"); });
  const Seen local = train_on<LocalTraining>();
  expect_same(local, train_on<TensorFlowTraining>());
  EXPECT_THAT(local.first.back(), HasSubstr("end, step 3"));
  EXPECT_THAT(local.end, HasSubstr("1 recoveries"));
}

// Calls of a step function are hooked, and recovered, as a whole.
TEST_F(SameHooksTest, SeeTheSameStepFunctions) {
  body_ = [](MonitoredSession& session, Operation train) {
    session.run_step_fn([&](StepContext& context) {
      read_global_step(context.session());  // Without hooks.
      context.run_with_hooks(train);
    });
  };
  first_->in_before_run(2, [](auto&, auto&) { throw UnavailableError("the server is away"); });
  const Seen local = train_on<LocalTraining>();
  expect_same(local, train_on<TensorFlowTraining>());
  EXPECT_THAT(local.first.back(), HasSubstr("end, step 5"));
}

}  // namespace
}  // namespace crochet
