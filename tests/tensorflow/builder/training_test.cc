// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/monitored_training_session.h"
#include "crochet/session/graph.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

// A graph that learns the line y = 2 x + 1 from four points, built as in a program.
struct Line {
  Line() {
    tensorflow::GraphBuilder build(graph);
    const auto x = build.constant("x", std::vector{0.0f, 1.0f, 2.0f, 3.0f});
    const auto y = build.constant("y", std::vector{1.0f, 3.0f, 5.0f, 7.0f});
    slope = build.variable("slope", Tensor::scalar(0.0f));
    const auto offset = build.variable("offset", Tensor::scalar(0.0f));
    const auto guess = build.op("Add", "guess", {build.op("Mul", "product", {x, slope}), offset});
    const auto errors = build.op("SquaredDifference", "errors", {guess, y});
    loss = build.op("Mean", "loss", {errors, build.constant("axis", std::vector{0})})[0];
    build.scalar_summary("curves/loss", loss);
    build.histogram_summary("guesses", guess);
    create_global_step(graph);
    const auto apply = build.gradient_descent("apply", loss, {.learning_rate = 0.125});
    train = increment_global_step(graph, 1, {apply});
  }

  tensorflow::Graph graph;
  Variable slope;
  Output loss;
  Operation train;
};

class TensorFlowBuilderTest : public testing::Test {
 protected:
  RunReport train_until(Line& line, int64_t step, HookList hooks = {},
                        std::shared_ptr<Scaffold> scaffold = nullptr) {
    hooks.push_back(StopAtStepHook({.last_step = step}));
    return train({.graph = line.graph,
                  .checkpoint_dir = directory_.path(),
                  .scaffold = std::move(scaffold),
                  .hooks = std::move(hooks),
                  .save_summaries_steps = 1},
                 [&](MonitoredSession& session) {
                   while (!session.should_stop()) session.run(line.train);
                 });
  }

  TempDirectory directory_;
};

TEST_F(TensorFlowBuilderTest, TrainsSavesAndResumes) {
  {
    Line line;
    EXPECT_EQ(train_until(line, 20).last_step, 20);
  }
  Line line;
  const RunReport report = train_until(line, 60);
  EXPECT_EQ(report.resumed_from, 20);
  CheckpointReader reader(directory_ / "model.ckpt-60");
  EXPECT_THAT(reader.tensors(),
              UnorderedElementsAre(Pair("slope", testing::_), Pair("offset", testing::_),
                                   Pair("global_step", testing::_)));
  EXPECT_NEAR(reader.read("slope").scalar<float>(), 2, 0.05);
  EXPECT_NEAR(reader.read("offset").scalar<float>(), 1, 0.1);
}

TEST_F(TensorFlowBuilderTest, WritesTheSummariesOfTheGraph) {
  Line line;
  train_until(line, 5);
  const std::map<int64_t, Metrics> metrics =
      read_eval_metrics(FileSystem::posix(), directory_.path());
  EXPECT_EQ(metrics.at(1).at("curves/loss"), 21);
  for (int64_t step = 2; step <= 5; ++step)
    EXPECT_TRUE(metrics.at(step).contains("curves/loss")) << step;
  EXPECT_LT(metrics.at(5).at("curves/loss"), 1);
}

// Counts, in the graph, the steps whose loss was above a limit.
class AboveHook final : public SessionRunHook {
 public:
  void begin(Graph& graph) override {
    tensorflow::GraphBuilder build(graph);
    const auto above =
        build.op("Greater", "above", {graph.output("loss"), build.constant("limit", 0.5f)});
    const auto one = build.op("Cast", "above/one", {above}, {{"DstT", DType::kInt64}});
    const auto count =
        build.variable("above/count", Tensor::scalar<int64_t>(0), {.trainable = false});
    const auto add = build.op("AssignAddVariableOp", "above/add",
                              {tensorflow::GraphBuilder::handle(count), one});
    request_ =
        build.op("ReadVariableOp", "above/counted", {tensorflow::GraphBuilder::handle(count)},
                 {{"dtype", DType::kInt64}}, {.control_inputs = {add}})[0];
  }
  void after_create_session(Session& session, Coordinator&) override {
    tensorflow::GraphBuilder build(session.graph());
    EXPECT_THAT([&] { build.group("too_late", {}); },
                ThrowsMessage<FailedPreconditionError>(HasSubstr("too_late")));
    EXPECT_THROW(session.graph().add_to_collection("x", Output()), FailedPreconditionError);
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    return SessionRunArgs{.fetches = request_};
  }
  void after_run(SessionRunContext&, const SessionRunValues& values) override {
    count = values.results.scalar<int64_t>();
  }

  int64_t count = 0;

 private:
  Output request_;
};

TEST_F(TensorFlowBuilderTest, LetsHooksAddOperationsUntilTheGraphIsFinal) {
  const auto hook = std::make_shared<AboveHook>();
  Line line;
  train_until(line, 30, {hook});
  EXPECT_GT(hook->count, 0);
  EXPECT_LT(hook->count, 30);
  // The hook's counter is a variable like any other.
  EXPECT_EQ(CheckpointReader(directory_ / "model.ckpt-30").read("above/count").scalar<int64_t>(),
            hook->count);
}

TEST_F(TensorFlowBuilderTest, FillsTheScaffold) {
  Line line;
  Scaffold scaffold;
  scaffold.finalize(line.graph);
  EXPECT_TRUE(line.graph.finalized());
  EXPECT_EQ(scaffold.saver, registered_saver(line.graph));
  ASSERT_NE(scaffold.summary_op.as_map(), nullptr);
  EXPECT_THAT(*scaffold.summary_op.as_map(),
              UnorderedElementsAre(Pair("curves/loss", testing::_), Pair("guesses", testing::_)));
  EXPECT_TRUE(scaffold.local_init_op.empty());
  const auto session = line.graph.new_session("");
  EXPECT_EQ(session->run(scaffold.ready_op).tensor(),
            Tensor::from({"slope", "offset", "global_step"}));
  session->run(scaffold.init_op);
  EXPECT_EQ(session->run(scaffold.ready_op).tensor().num_elements(), 0);
  // The next one finds the operations of this one.
  Scaffold second;
  second.finalize(line.graph);
  EXPECT_EQ(*second.init_op.as_output(), *scaffold.init_op.as_output());
}

TEST_F(TensorFlowBuilderTest, NamesTheVariablesThatWereNotInitialized) {
  Line line;
  auto scaffold = std::make_shared<Scaffold>();
  scaffold->init_op = line.graph.operation("slope/Assign");
  EXPECT_THAT([&] { train_until(line, 1, {}, scaffold); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("offset"), HasSubstr("global_step"), Not(HasSubstr("slope")))));
}

}  // namespace
}  // namespace crochet
