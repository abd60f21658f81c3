// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/session.h"
#include "tests/support/wait_until.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Throws;
using testing::ThrowsMessage;

// ConfigProto.experimental.executor_type.
const std::string kField = std::string("\x82\x01\x1a\x1a\x18") + "SINGLE_THREADED_EXECUTOR";

TEST(SingleThreadedConfigTest, IsAppendedToTheBase) {
  EXPECT_EQ(single_threaded_config().serialized, kField);
  EXPECT_EQ(single_threaded_config("\x10\x01").serialized, "\x10\x01" + kField);
}

TEST(SingleThreadedConfigTest, IsRecognized) {
  EXPECT_TRUE(internal::is_single_threaded(kField));
  EXPECT_FALSE(internal::is_single_threaded(""));
  EXPECT_FALSE(internal::is_single_threaded(callers_thread_config().serialized));
  // After it: another experimental setting; another executor.
  const std::string more("\x82\x01\x02\x08\x01", 5), usual("\x82\x01\x02\x1a\x00", 5);
  EXPECT_TRUE(internal::is_single_threaded(kField + more));
  EXPECT_FALSE(internal::is_single_threaded(kField + usual));
  EXPECT_THROW(internal::is_single_threaded(kField + "\x10"), InvalidArgumentError);
}

TEST(SingleThreadedConfigTest, IsRejectedIfTimeoutsWouldNotWork) {
  const std::string callers_thread = callers_thread_config().serialized;
  Graph graph;
  for (const std::string& both : {kField + callers_thread, callers_thread + kField})
    EXPECT_THAT([&] { graph.new_session("", {both}); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("parallelism_threads = -1")));
  // If a field is repeated, the last one counts.
  EXPECT_NO_THROW(graph.new_session("", {callers_thread + kField + std::string("\x28\x00", 2)}));
}

class SingleThreadedTest : public testing::Test {
 protected:
  InitializedGraph kinds_{"kinds"};
  std::unique_ptr<crochet::Session> session_ =
      kinds_.graph.new_session("", single_threaded_config());
};

TEST_F(SingleThreadedTest, TimesOut) {
  EXPECT_THROW(session_->run("dequeue", {}, {.timeout_in_ms = 20}), DeadlineExceededError);
  EXPECT_EQ(session_->run("shared").tensor().num_elements(), 2);
  EXPECT_THAT(
      [&] { session_->run("dequeue", {}, {.timeout_in_ms = 20, .inter_op_thread_pool = -1}); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("inter_op_thread_pool")));
}

TEST_F(SingleThreadedTest, EndsARunThatHangsWhenItIsClosed) {
  std::latch begun(1);
  std::thread hanging([&] {
    begun.count_down();
    // The latter if it had not started yet.
    EXPECT_THAT([&] { session_->run("dequeue"); },
                AnyOf(Throws<CancelledError>(), Throws<FailedPreconditionError>()));
  });
  begun.wait();
  session_->close();
  hanging.join();
}

TEST_F(SingleThreadedTest, ContinuesAfterAnOperationThatFailed) {
  const Feeds matrices = {{kinds_.graph.output("left"), Tensor::zeros<float>({2, 3})},
                          {kinds_.graph.output("right"), Tensor::zeros<float>({2, 3})}};
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT([&] { session_->run("product", matrices); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("product")));
  EXPECT_EQ(session_->run("shared").tensor().num_elements(), 2);
}

TEST_F(SingleThreadedTest, TimesNoOperations) {
  RunMetadata metadata;
  session_->run("shared", {}, {.trace_level = TraceLevel::kFull}, &metadata);
  EXPECT_THAT(metadata.operations, IsEmpty());
}

TEST_F(SingleThreadedTest, RejectsReferenceVariables) {
  EXPECT_THAT([&] { session_->run(kinds_.graph.operation("change_reference")); },
              ThrowsMessage<UnimplementedError>(HasSubstr("node reference")));
}

TEST(SingleThreadedGraphsTest, RejectsControlFlowOfTheGraphItself) {
  Graph graph = import_golden("control_flow");
  const auto session = graph.new_session("", single_threaded_config());
  EXPECT_THAT(
      [&] {
        session->run("y", {{graph.output("x"), Tensor::scalar(1.0f)}});
      },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("control flow node")));
}

TEST(SingleThreadedGraphsTest, RejectsMoreThanOneDevice) {
  // ConfigProto.device_count = {"CPU": 2}.
  const std::string two_devices(
      "\x0a\x07\x0a\x03"
      "CPU\x10\x02");
  Graph graph;
  EXPECT_THAT([&] { graph.new_session("", single_threaded_config(two_devices)); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("the session has 2")));
}

// An endless loop that counts its iterations.
TEST(SingleThreadedGraphsTest, EndsAnEndlessLoopWhenItIsClosed) {
  Graph graph;
  GraphBuilder build(graph);
  const Variable rounds = build.variable("rounds", Tensor::scalar(0.0f));
  const std::vector<FunctionInput> state = {{"rounds", DType::kResource}};
  const Function always = build.function(
      "always", state,
      [](GraphBuilder& body, const std::vector<Output>&) { return body.constant("true", true); });
  const Function count =
      build.function("count", state, [](GraphBuilder& body, const std::vector<Output>& in) {
        body.op("AssignAddVariableOp", "add", {in[0], body.constant("one", 1.0f)});
        return in[0];
      });
  const auto loop =
      build.op("While", "loop", {{build.handle(rounds)}}, {{"cond", always}, {"body", count}});
  const Output read =
      build.op("ReadVariableOp", "read", {build.handle(rounds)}, {{"dtype", DType::kFloat}})[0];
  const Output init = graph.default_init_op();
  for (const SessionConfig& config : {single_threaded_config(), callers_thread_config()}) {
    const auto session = graph.new_session("", config);
    session->run(init);
    std::thread endless([&] { EXPECT_THROW(session->run(loop), CancelledError); });
    wait_until("the loop to begin", [&] { return session->run(read).scalar<float>() != 0; });
    session->close();
    endless.join();
  }
}

// Learns a matrix, with functions and branches.
struct Learning {
  Learning() {
    GraphBuilder build(graph);
    const auto weights = build.variable("weights", Tensor::zeros<float>({4, 3}));
    const auto input = build.constant(
        "input", Tensor::from<float>({0.1f, 0.7f, -0.3f, 0.9f, 0.2f, -0.8f, 0.6f, 0.4f}, {2, 4}));
    const Function half = build.function(
        "half", {{"x", DType::kFloat}}, [](GraphBuilder& body, const std::vector<Output>& in) {
          return body.op("Mul", "product", {in[0], body.constant("factor", 0.5f)});
        });
    const auto target =
        build.op("PartitionedCall", "target",
                 {{build.constant("whole", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}))}},
                 {{"f", half}});
    const auto product = build.op("MatMul", "product", {input, weights});
    const auto error = build.op("SquaredDifference", "error", {product, target[0]});
    const auto loss =
        build.op("Mean", "loss", {error, build.constant("axes", std::vector<int32_t>{0, 1})});
    train = build.gradient_descent("train", loss, {.learning_rate = 0.3f});
    init = graph.default_init_op();
  }
  Tensor learn(const SessionConfig& config) {
    const auto session = graph.new_session("", config);
    session->run(init);
    for (int i = 0; i < 50; ++i) session->run(train);
    return value_of(*session, "weights");
  }
  Graph graph;
  Operation train;
  Output init;
};

TEST(SingleThreadedGraphsTest, LearnsTheSameValuesBitForBit) {
  Learning learning;
  const Tensor expected = learning.learn({});
  EXPECT_NE(expected, Tensor::zeros<float>({4, 3}));
  EXPECT_EQ(learning.learn(single_threaded_config()), expected);
}

TEST(SingleThreadedGraphsTest, ComputesOnTheCallingThread) {
  Learning learning;
  const auto session = learning.graph.new_session("", single_threaded_config());
  session->run({learning.init});
  session->run(learning.train);
  EXPECT_LT(share_of_other_threads([&] { session->run(learning.train); }), 0.2);
}

}  // namespace
}  // namespace crochet::tensorflow
