// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/hooked_session.h"

#include <algorithm>
#include <new>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// A hook whose behaviour the test sets.
class ToldHook final : public SessionRunHook {
 public:
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    return before ? before(context) : std::nullopt;
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    ++num_after_runs;
    results = values.results;
    options = *values.options;
    run_metadata = *values.run_metadata;
    if (after) after(context);
  }
  std::optional<int64_t> last_step() const override { return last; }
  std::string name() const override { return called; }

  std::string called = "ToldHook";
  std::function<std::optional<SessionRunArgs>(SessionRunContext&)> before;
  std::function<void(SessionRunContext&)> after;
  std::optional<int64_t> last;
  FetchValues results;
  RunOptions options;
  RunMetadata run_metadata;
  int num_after_runs = 0;
};

class HookedSessionTest : public testing::Test {
 protected:
  HookedSessionTest() {
    first_->called = "First";
    second_->called = "Second";
  }

  static void ask(const std::shared_ptr<ToldHook>& hook, SessionRunArgs args) {
    hook->before = [args](SessionRunContext&) { return args; };
  }

  ScriptedGraph graph_;
  const Output loss_ = graph_.value("loss", {Tensor::scalar(1.0f)});
  const Output rate_ = graph_.value("rate", {Tensor::scalar(2.0f)});
  std::unique_ptr<Session> session_ = graph_.new_session("");
  std::shared_ptr<ToldHook> first_ = std::make_shared<ToldHook>();
  std::shared_ptr<ToldHook> second_ = std::make_shared<ToldHook>();
  HookList hooks_ = {first_, second_};
  StopState stop_;
  HookedSession hooked_{*session_, hooks_, stop_};
  LogCapture log_;
};

// If the session still held a value, writing to it would make a copy.
TEST_F(HookedSessionTest, ReleasesItsValuesAfterTheRun) {
  const Output big = graph_.value("big", [] { return Tensor::zeros<float>({100}); });
  ask(second_, {.fetches = big});
  Tensor value = hooked_.run(big, {}).tensor();
  second_->results = {};
  const std::byte* const place = value.bytes().data();
  EXPECT_EQ(value.mutable_bytes().data(), place) << "it was shared, and copied to be written to";
}

// MS-49: hooks that request nothing receive nothing, and see the caller's arguments.
// MS-22: graph and target are the engine's session's.
TEST_F(HookedSessionTest, ShowsGraphAndTarget) {
  HookedSession session(*session_, hooks_, stop_);
  EXPECT_EQ(&session.graph(), &graph_);
  EXPECT_EQ(&session.target(), &session_->target());
}

TEST_F(HookedSessionTest, ReturnsNothingToHooksThatRequestNothing) {
  Session* seen_session = nullptr;
  std::vector<Output> asked;
  first_->before = [&](SessionRunContext& context) -> std::optional<SessionRunArgs> {
    seen_session = &context.session();
    flatten(context.original_args().fetches, asked);
    return std::nullopt;
  };
  second_->before = [](SessionRunContext&) { return SessionRunArgs{}; };
  EXPECT_EQ(hooked_.run("loss", {}).scalar<float>(), 1);
  EXPECT_EQ(seen_session, session_.get());
  EXPECT_THAT(asked, ElementsAre(loss_));
  for (const auto& hook : {first_, second_}) {
    EXPECT_EQ(hook->num_after_runs, 1);
    EXPECT_FALSE(hook->results);
    EXPECT_EQ(hook->options, RunOptions());
    EXPECT_THAT(hook->run_metadata.operations, IsEmpty());
  }
}

// MS-51: each receives exactly what it requested, from one run.
TEST_F(HookedSessionTest, ReturnsToEachItsOwnValues) {
  ask(first_, {.fetches = {{"l", loss_}, {"both", {loss_, rate_}}}});
  ask(second_, {.fetches = "rate"});
  const FetchValues values = hooked_.run(Fetches::List{graph_.train(), loss_}, {});
  EXPECT_EQ(values[1].scalar<float>(), 1);
  EXPECT_EQ(first_->results["l"].scalar<float>(), 1);
  EXPECT_EQ(first_->results["both"][1].scalar<float>(), 2);
  EXPECT_EQ(second_->results.scalar<float>(), 2);
  EXPECT_THAT(graph_.runs(), testing::SizeIs(1));
}

// MS-53: the feeds of hooks and caller are merged; the caller's own object is unchanged.
TEST_F(HookedSessionTest, MergesTheFeeds) {
  ask(first_, {.feeds = {{loss_, Tensor::scalar(10.0f)}}});
  const Feeds feeds = {{rate_, Tensor::scalar(20.0f)}};
  const FetchValues values = hooked_.run({loss_, rate_}, feeds);
  EXPECT_EQ(values[0].scalar<float>(), 10);
  EXPECT_EQ(values[1].scalar<float>(), 20);
  EXPECT_EQ(feeds.size(), 1);
}

// MS-54: two hooks that feed one tensor are an error.
TEST_F(HookedSessionTest, RejectsATensorFedByTwoHooks) {
  for (const auto& hook : {first_, second_}) ask(hook, {.feeds = {{loss_, Tensor::scalar(1.0f)}}});
  EXPECT_THAT([&] { hooked_.run(rate_, {}); },
              ThrowsMessage<FailedPreconditionError>(AllOf(
                  HasSubstr("Same tensor is fed"), HasSubstr("loss:0"), HasSubstr("Second"))));
  EXPECT_THAT(graph_.runs(), IsEmpty());
}

TEST_F(HookedSessionTest, RejectsATensorFedByHookAndCaller) {
  ask(first_, {.feeds = {{loss_, Tensor::scalar(1.0f)}}});
  EXPECT_THAT(
      [&] {
        hooked_.run(rate_, {{loss_, Tensor::scalar(1.0f)}});
      },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("Same tensor is fed")));
}

// As for two hooks, of which the second one knows that it is too much, and no later one is asked.
TEST_F(HookedSessionTest, AsksAllHooksBeforeItRejectsATensorThatTheCallerFeedsToo) {
  ask(first_, {.feeds = {{loss_, Tensor::scalar(1.0f)}}});
  bool is_asked = false;
  second_->before = [&](SessionRunContext&) {
    is_asked = true;
    return std::nullopt;
  };
  const Feeds feeds = {{loss_, Tensor::scalar(1.0f)}};
  EXPECT_THAT(
      [&] { hooked_.run(rate_, feeds); },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("loss:0 by First and by the caller")));
  EXPECT_TRUE(is_asked);
}

TEST_F(HookedSessionTest, RejectsUnknownNames) {
  ask(second_, {.fetches = "lost"});
  EXPECT_THROW(hooked_.run(loss_, {}), NotFoundError);
  EXPECT_THROW(hooked_.run("lost", {}), NotFoundError);
}

TEST_F(HookedSessionTest, CallsHooksInOrder) {
  std::vector<std::string> calls;
  for (const auto& hook : {first_, second_}) {
    hook->before = [&calls, hook = hook.get()](SessionRunContext&) {
      calls.push_back(hook->called + " before");
      return std::nullopt;
    };
    hook->after = [&calls, hook = hook.get()](SessionRunContext&) {
      calls.push_back(hook->called + " after");
    };
  }
  hooked_.run({}, {});
  EXPECT_THAT(calls, ElementsAre("First before", "Second before", "First after", "Second after"));
}

TEST_F(HookedSessionTest, DoesNotCallAfterRunIfTheRunFails) {
  graph_.fail_run(0, DataLossError("gone"));
  EXPECT_THROW(hooked_.run(loss_, {}), DataLossError);
  EXPECT_EQ(first_->num_after_runs, 0);
}

TEST_F(HookedSessionTest, SkipsLaterHooksIfOneThrows) {
  first_->after = [](SessionRunContext&) { throw std::runtime_error("mine"); };
  EXPECT_THROW(hooked_.run(loss_, {}), std::runtime_error);
  EXPECT_EQ(second_->num_after_runs, 0);
}

TEST_F(HookedSessionTest, RunsNothingIfBeforeRunThrows) {
  second_->before = [](SessionRunContext&) -> std::optional<SessionRunArgs> {
    throw StopIteration();
  };
  EXPECT_THROW(hooked_.run(loss_, {}), StopIteration);
  EXPECT_THAT(graph_.runs(), IsEmpty());
}

TEST_F(HookedSessionTest, StopsAfterTheRunInWhichAHookRequestsIt) {
  second_->after = [](SessionRunContext& context) { context.request_stop("it is enough"); };
  EXPECT_FALSE(hooked_.should_stop());
  hooked_.run(loss_, {});
  EXPECT_TRUE(hooked_.should_stop());
  EXPECT_EQ(stop_.stop_request()->who, "Second");
  EXPECT_EQ(stop_.stop_request()->reason, "it is enough");
  EXPECT_TRUE(log_.contains("Second requested a stop: it is enough"));
  EXPECT_THAT([&] { hooked_.run(loss_, {}); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("Run called even after should_stop requested"),
                        HasSubstr("Second"), HasSubstr("it is enough"))));
}

TEST_F(HookedSessionTest, StillRunsIfAHookRequestsAStopBeforeTheRun) {
  first_->before = [](SessionRunContext& context) {
    context.request_stop("early", 15);
    return std::nullopt;
  };
  second_->after = [](SessionRunContext& context) {
    EXPECT_TRUE(context.stop_requested());
    context.request_stop("late");
  };
  hooked_.run(loss_, {});
  EXPECT_EQ(graph_.num_runs(), 1);
  EXPECT_EQ(stop_.stop_request()->who, "First");
  EXPECT_EQ(stop_.stop_request()->signal, 15);
}

TEST_F(HookedSessionTest, KeepsARequestIfTheRunFails) {
  first_->before = [](SessionRunContext& context) {
    context.request_stop("early");
    return std::nullopt;
  };
  graph_.fail_run(0, AbortedError("gone"));
  EXPECT_THROW(hooked_.run(loss_, {}), AbortedError);
  EXPECT_TRUE(hooked_.should_stop());
  EXPECT_EQ(stop_.stop_request()->reason, "early");
}

TEST_F(HookedSessionTest, RunsAfterARequestOnlyInTheRepetitionOfACall) {
  stop_.request_stop({"SignalHook", "SIGTERM", 15});
  EXPECT_THROW(hooked_.run(loss_, {}), FailedPreconditionError);
  stop_.repeat_call();
  hooked_.run(loss_, {});
  hooked_.run(loss_, {});
  EXPECT_TRUE(hooked_.should_stop());
  EXPECT_EQ(stop_.stop_request()->signal, 15);
  stop_.request_stop({"StopAtStepHook", "reached step 4"});
  EXPECT_THROW(hooked_.run(loss_, {}), FailedPreconditionError);
  stop_.repeat_call();
  stop_.begin_call();
  EXPECT_THROW(hooked_.run(loss_, {}), FailedPreconditionError);
  EXPECT_EQ(stop_.stop_request()->signal, 15);
}

TEST_F(HookedSessionTest, ShowsARequestToSaveToLaterHooks) {
  std::vector<std::optional<std::string>> seen;
  bool requests = true;
  first_->after = [&](SessionRunContext& context) {
    if (requests) context.request_save("first");
    if (requests) context.request_save("second");
  };
  second_->after = [&](SessionRunContext& context) { seen.push_back(context.save_request()); };
  hooked_.run({}, {});
  requests = false;
  hooked_.run({}, {});
  EXPECT_THAT(seen, ElementsAre("first", std::nullopt));
  requests = true;
  hooked_.run({}, {});
  EXPECT_EQ(std::ranges::count(log_.lines(Severity::kWarning),
                               "a save was requested, but no hook of this run saves checkpoints"),
            1);
}

TEST_F(HookedSessionTest, PassesTheSmallestLastStepToHooks) {
  std::optional<int64_t> seen;
  first_->before = [&](SessionRunContext& context) {
    seen = context.last_step();
    return std::nullopt;
  };
  hooked_.run({}, {});
  EXPECT_EQ(seen, std::nullopt);
  first_->last = 20;
  second_->last = 10;
  hooked_.run({}, {});
  EXPECT_EQ(seen, 10);
}

TEST_F(HookedSessionTest, FetchesTheGlobalStepForAllHooksThatAskForIt) {
  std::vector<int64_t> seen;
  first_->before = [&](SessionRunContext& context) {
    EXPECT_THROW(context.global_step(), FailedPreconditionError);
    context.request_global_step();
    return SessionRunArgs{.fetches = loss_};
  };
  for (const auto& hook : {first_, second_})
    hook->after = [&](SessionRunContext& context) { seen.push_back(context.global_step()); };
  EXPECT_EQ(hooked_.run(Fetches::List{graph_.train(), loss_}, {})[1].scalar<float>(), 1);
  EXPECT_EQ(first_->results.scalar<float>(), 1);
  hooked_.run(graph_.train(), {});
  EXPECT_THAT(seen, ElementsAre(0, 0, 1, 1));
}

TEST_F(HookedSessionTest, AnUnrequestedGlobalStepIsAnError) {
  first_->after = [&](SessionRunContext& context) {
    EXPECT_THROW(context.global_step(), FailedPreconditionError);
  };
  hooked_.run(graph_.train(), {});
  EXPECT_EQ(first_->num_after_runs, 1);
}

TEST_F(HookedSessionTest, DoesNotRunOnceClosed) {
  hooked_.close();
  EXPECT_TRUE(hooked_.should_stop());
  EXPECT_THROW(hooked_.run(loss_, {}), FailedPreconditionError);
}

// A hook may run the engine's session itself: such runs call no hooks.
TEST_F(HookedSessionTest, LetsHooksUseTheSession) {
  first_->after = [&](SessionRunContext& context) {
    EXPECT_EQ(context.session().run("rate").scalar<float>(), 2);
  };
  hooked_.run(graph_.train(), {});
  EXPECT_EQ(second_->num_after_runs, 1);
  EXPECT_EQ(graph_.num_runs(), 2);
}

// MS-48: without hooks, feeds, options and metadata reach the engine's run as they are.
TEST_F(HookedSessionTest, PassesOnAllArguments) {
  const HookList no_hooks;
  HookedSession hooked(*session_, no_hooks, stop_);
  const RunOptions options{.trace_level = TraceLevel::kFull, .debug_tensor_watches = {"loss"}};
  RunMetadata metadata;
  hooked.run(loss_, {{rate_, Tensor::scalar(5.0f)}}, options, &metadata);
  EXPECT_THAT(graph_.runs(), ElementsAre(ScriptedRun{
                                 .fetches = {"loss:0"}, .feeds = {"rate:0"}, .options = options}));
  ASSERT_EQ(metadata.operations.size(), 1);
  EXPECT_EQ(metadata.operations[0].name, "loss");
}

// MS-74: the options of two hooks are merged; both see the merged ones and what the run recorded.
TEST_F(HookedSessionTest, MergesTheOptionsOfHooks) {
  ask(first_, {.options = RunOptions{.trace_level = TraceLevel::kSoftware,
                                     .timeout_in_ms = 60,
                                     .output_partition_graphs = true,
                                     .debug_tensor_watches = {"a"}}});
  ask(second_,
      {.options = RunOptions{
           .trace_level = TraceLevel::kFull, .timeout_in_ms = 30, .debug_tensor_watches = {"b"}}});
  hooked_.run(loss_, {});
  const RunOptions merged{.trace_level = TraceLevel::kFull,
                          .timeout_in_ms = 60,
                          .output_partition_graphs = true,
                          .debug_tensor_watches = {"a", "b"}};
  EXPECT_EQ(graph_.runs().at(0).options, merged);
  for (const auto& hook : {first_, second_}) {
    EXPECT_EQ(hook->options, merged);
    EXPECT_EQ(hook->run_metadata.operations.size(), 1);
    EXPECT_THAT(hook->run_metadata.partition_graphs, ElementsAre("scripted"));
  }
}

// MS-75: the caller's options come first, and the caller's own object is unchanged.
TEST_F(HookedSessionTest, MergesTheOptionsOfCallerAndHooks) {
  ask(first_, {.options = RunOptions{.timeout_in_ms = 30, .debug_tensor_watches = {"hook"}}});
  const RunOptions options{.trace_level = TraceLevel::kSoftware,
                           .debug_tensor_watches = {"caller"}};
  hooked_.run(loss_, {}, options);
  EXPECT_EQ(graph_.runs().at(0).options, (RunOptions{.trace_level = TraceLevel::kSoftware,
                                                     .timeout_in_ms = 30,
                                                     .debug_tensor_watches = {"caller", "hook"}}));
  EXPECT_EQ(options.debug_tensor_watches.size(), 1);
}

// Options apply to one run: the next one starts without them.
TEST_F(HookedSessionTest, ForgetsOptionsAndRecords) {
  ask(first_, {.options = RunOptions{.trace_level = TraceLevel::kFull}});
  hooked_.run(loss_, {});
  first_->before = nullptr;
  hooked_.run(loss_, {});
  EXPECT_EQ(graph_.runs().at(1).options, RunOptions());
  EXPECT_THAT(first_->run_metadata.operations, IsEmpty());
}

// A temporary list, gone before the first run, does not compile; neither do temporary arguments.
static_assert(std::is_constructible_v<HookedSession, Session&, const HookList&, StopState&>);
static_assert(!std::is_constructible_v<HookedSession, Session&, HookList, StopState&>);
static_assert(std::is_constructible_v<SessionRunContext, const SessionRunArgs&, Session&,
                                      std::optional<int64_t>, StopState&>);
static_assert(!std::is_constructible_v<SessionRunContext, SessionRunArgs, Session&,
                                       std::optional<int64_t>, StopState&>);

TEST_F(HookedSessionTest, RunsWithoutFeeds) {
  const HookList hooks;
  HookedSession session(*session_, hooks, stop_);
  EXPECT_EQ(session.run(loss_).scalar<float>(), 1);
}

TEST_F(HookedSessionTest, EachRunHasItsOwnArgumentsAndRequests) {
  const Fetches requests[] = {loss_, {}, rate_, "loss", Fetches::List{rate_, loss_}, loss_, loss_};
  const std::vector<Output> asked[] = {{loss_},        {},      {rate_}, {loss_},
                                       {rate_, loss_}, {loss_}, {loss_}};
  const auto leaves = [&](const Fetches& fetches) {
    std::vector<Output> outputs;
    flatten(graph_.resolve(fetches), outputs);
    return outputs;
  };
  for (size_t i = 0; i < std::size(requests); ++i) {
    first_->before = [&](SessionRunContext& context) -> std::optional<SessionRunArgs> {
      EXPECT_EQ(leaves(context.original_args().fetches), asked[i]);
      EXPECT_EQ(context.original_args().feeds.size(), i % 2);
      EXPECT_EQ(context.original_args().options->timeout_in_ms, static_cast<int64_t>(i / 2));
      if (requests[i].empty()) return std::nullopt;
      return SessionRunArgs{.fetches = requests[i]};
    };
    Feeds feeds(i % 2, {rate_, Tensor::scalar(7.0f)});
    const FetchValues values =
        hooked_.run(requests[i], feeds, {.timeout_in_ms = static_cast<int64_t>(i / 2)});
    for (const FetchValues& own : {values, first_->results}) {
      EXPECT_EQ(static_cast<bool>(own), !asked[i].empty());
      EXPECT_EQ(own.as_tensor() != nullptr, asked[i].size() == 1);
      EXPECT_EQ(own.as_list() != nullptr, asked[i].size() == 2);
    }
    EXPECT_EQ(first_->options.timeout_in_ms, static_cast<int64_t>(i / 2));
  }
}

TEST_F(HookedSessionTest, ForgetsTheFeedsOfAHook) {
  const Tensor fed = Tensor::from<float>(std::vector<float>(100, 7));
  ask(first_, {.feeds = {{rate_, fed}}});
  EXPECT_EQ(hooked_.run(rate_, {}).tensor(), fed);
  first_->before = {};
  EXPECT_EQ(hooked_.run(rate_, {}).scalar<float>(), 2);
  EXPECT_FALSE(fed.is_shared());
}

// Each allocation of a run fails in turn.
TEST_F(HookedSessionTest, AStepThatNoHookHasSeenIsNotToBeSaved) {
  int num_computed = 0;
  const Output counted = graph_.value("counted", [&num_computed] {
    ++num_computed;
    return Tensor::scalar(1.0f);
  });
  const Fetches both = {counted, loss_};
  int num_unseen = 0;
  bool has_failed = true;
  for (int64_t first = 0; has_failed; ++first) {
    const int computed_before = num_computed, told_before = first_->num_after_runs;
    has_failed = false;
    {
      const FailingAllocations failing(first, 1);
      std::thread([&] {
        try {
          hooked_.run(both, {});
        } catch (const std::bad_alloc&) {
          has_failed = true;
        }
      }).join();
    }
    if (num_computed == computed_before || first_->num_after_runs > told_before) continue;
    ++num_unseen;
    EXPECT_NE(hooked_.reason_not_to_save(/*stop_is_pending=*/false), nullptr)
        << "allocation " << first;
  }
  EXPECT_GT(num_unseen, 0);
}

TEST_F(HookedSessionTest, RejectsAHooksRequestOfAnotherGraph) {
  ScriptedGraph other;
  ask(first_, {.fetches = other.value("other", {Tensor::scalar(1.0f)})});
  EXPECT_THROW(hooked_.run(loss_, {}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet::internal
