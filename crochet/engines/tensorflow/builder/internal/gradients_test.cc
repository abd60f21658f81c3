// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/builder/internal/gradients.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class GradientsTest : public testing::Test {
 protected:
  float run(const Output& output) {
    return initialized_session(graph_)->run(output).scalar<float>();
  }

  Graph graph_;
  GraphBuilder build_{graph_};
  const Output a_ = build_.constant("a", 3.0f);
  const Output b_ = build_.constant("b", 5.0f);
};

TEST_F(GradientsTest, ComputesDerivatives) {
  const auto product = build_.op("Mul", "product", {a_, b_});
  const auto square = build_.op("Square", "square", {product});
  const auto gradients = build_.gradients("g", {square}, {a_, b_});
  EXPECT_EQ(run(gradients[0]), 2 * 3 * 25);
  EXPECT_EQ(run(gradients[1]), 2 * 9 * 5);
  EXPECT_TRUE(gradients[0].operation()->name.starts_with("g/"));
  EXPECT_EQ(graph_.output(to_string(gradients[0])), gradients[0]);
}

TEST_F(GradientsTest, AcceptsRepeatedAndUnrelatedXs) {
  const auto square = build_.op("Square", "square", {a_});
  const auto gradients = build_.gradients("g", {square}, {a_, b_, a_});
  EXPECT_EQ(run(gradients[0]), 6);
  EXPECT_FALSE(gradients[1]);
  EXPECT_EQ(gradients[2], gradients[0]);
  EXPECT_FALSE(build_.gradients("h", {square}, {b_})[0]);
  EXPECT_EQ(run(build_.gradients("i", {a_}, {a_})[0]), 1);
}

// b is an ancestor of one y, and another y.
TEST_F(GradientsTest, SumsOverYsThatDependOnOneAnother) {
  const auto y = build_.op("Mul", "y", {a_, b_});
  const auto z = build_.op("Square", "z", {y});
  const auto gradients = build_.gradients("g", {y, z, y}, {a_, y});
  EXPECT_EQ(run(gradients[0]), 5 + 2 * 15 * 5 + 5);
  EXPECT_EQ(run(gradients[1]), 1 + 2 * 15 + 1);
}

TEST_F(GradientsTest, ReturnsEachDerivativeAtItsIndex) {
  std::vector<Output> parts;
  std::vector<OpInput> xs;
  for (int i = 0; i < 20; ++i) {
    parts.push_back(build_.constant(fmt::format("part_{}", i), Tensor::zeros<float>({i + 1})));
    xs.emplace_back(parts.back());
  }
  const auto joined = build_.op("ConcatV2", "joined", {parts, build_.constant("axis", 0)});
  std::vector<float> numbers(210);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const auto y = build_.op("Mul", "y", {joined, build_.constant("numbers", numbers)});
  const auto gradients = build_.gradients("g", {y}, xs);
  const auto session = initialized_session(graph_);
  float next = 0;
  for (int i = 0; i < 20; ++i) {
    const Tensor gradient = session->run(gradients[static_cast<size_t>(i)]).tensor();
    ASSERT_EQ(gradient.shape(), Shape{i + 1});
    for (const float number : gradient.flat<float>()) EXPECT_EQ(number, next++);
  }
}

TEST_F(GradientsTest, NamesOperationsWithoutAGradient) {
  const auto logits = build_.placeholder<float>("logits", {-1, 10});
  const auto labels = build_.placeholder<int32_t>("labels", {-1});
  const auto losses = build_.op("SparseSoftmaxCrossEntropyWithLogits", "losses", {logits, labels});
  const size_t size = graph_.operation_names().size();
  EXPECT_THAT([&] { build_.gradients("g", {losses[0]}, {logits}); },
              ThrowsMessage<UnimplementedError>(AllOf(
                  HasSubstr("gradients \"g\""), HasSubstr("SparseSoftmaxCrossEntropyWithLogits"),
                  HasSubstr("\"losses\""))));
  // No operations remain, and the name is free.
  EXPECT_EQ(graph_.operation_names().size(), size);
  const auto square = build_.op("Square", "square", {a_});
  EXPECT_EQ(run(build_.gradients("g", {square}, {a_})[0]), 6);
}

// TensorFlow itself would abort the process.
TEST_F(GradientsTest, RejectsLoops) {
  const auto enter = build_.op("Enter", "enter", {a_}, {{"frame_name", "frame"}});
  const auto exit = build_.op("Exit", "exit", {enter});
  EXPECT_THAT([&] { build_.gradients("g", {exit}, {a_}); },
              ThrowsMessage<UnimplementedError>(HasSubstr("\"enter\"")));
}

// SV-55, SV-56, SV-57 differs: through control flow the C API has no gradients; Python's are
// exported.
TEST_F(GradientsTest, AreExportedWithLoopsAndBranches) {
  Graph graph = Graph::import_meta_graph(golden_path("control_flow"));
  const Output x = graph.output("x");
  const Output y = graph.output("y");
  GraphBuilder build(graph);
  EXPECT_THAT([&] { build.gradients("g", {y}, {x}); },
              ThrowsMessage<UnimplementedError>(HasSubstr("control flow")));
  GraphBuilder(graph).name("gradient/named", graph.output("gradient"));
  Graph again = Graph::from_meta_graph(*graph.meta_graph(), "kept");
  // Values below 100 are doubled twice, three times.
  for (const auto& [value, result, derivative] :
       {std::tuple{1.0f, 64.0f, 64.0f}, std::tuple{10.0f, 160.0f, 16.0f}}) {
    const auto session = again.new_session("");
    const Feeds feeds = {{again.output("x"), Tensor::scalar(value)}};
    EXPECT_EQ(session->run("y", feeds).scalar<float>(), result);
    EXPECT_EQ(session->run("gradient/named", feeds).scalar<float>(), derivative);
  }
}

TEST_F(GradientsTest, RejectsTypesWithoutDerivatives) {
  const auto integer = build_.constant("integer", 1);
  const auto word = build_.constant("word", "cat");
  for (const Output& output : {integer, word}) {
    EXPECT_THROW(build_.gradients("g", {output}, {a_}), InvalidArgumentError);
    EXPECT_THROW(build_.gradients("g", {a_}, {output}), InvalidArgumentError);
  }
  EXPECT_THROW(build_.gradients("g", {}, {a_}), InvalidArgumentError);
  EXPECT_THROW(build_.gradients("g", {{a_, b_}}, {a_}), InvalidArgumentError);
  EXPECT_THROW(build_.gradients("a", {a_}, {a_}), AlreadyExistsError);
  build_.group("g/x", {});
  EXPECT_THROW(build_.gradients("g", {a_}, {a_}), AlreadyExistsError);
  Graph other;
  const Output foreign = GraphBuilder(other).constant("foreign", 1.0f);
  EXPECT_THROW(build_.gradients("h", {a_}, {foreign}), InvalidArgumentError);
  EXPECT_THROW(build_.gradients("h", {foreign}, {a_}), InvalidArgumentError);
}

TEST_F(GradientsTest, CountsAllReadsOfAVariable) {
  const auto v = build_.variable("v", Tensor::scalar(2.0f));
  const auto again =
      build_.op("ReadVariableOp", "again", {GraphBuilder::handle(v)}, {{"dtype", DType::kFloat}});
  const auto y = build_.op("Mul", "y", {v, again});
  EXPECT_EQ(run(build_.gradients("g", {y}, {v})[0]), 4);
}

TEST_F(GradientsTest, UpdatesVariablesByGradientDescent) {
  const auto v = build_.variable("v", Tensor::from<float>({1, 2}));
  const auto wide = build_.variable("wide", Tensor::scalar(4.0));
  const auto still = build_.variable("still", Tensor::scalar(7.0f));
  const auto fixed = build_.variable("fixed", Tensor::scalar(7.0f), {.trainable = false});
  const auto count = build_.variable("count", Tensor::scalar(7));
  const auto squares = build_.op("Square", "squares", {v});
  const auto narrow = build_.op("Cast", "narrow", {wide}, {{"DstT", DType::kFloat}});
  const auto all = build_.op("Mul", "all", {squares, narrow});
  const auto more = build_.op("Mul", "more", {all, fixed});
  const auto loss = build_.op("Sum", "loss", {more, build_.constant("axes", std::vector{0})});
  const auto train = build_.gradient_descent("train", loss, {.learning_rate = 0.125});
  EXPECT_EQ(train.name(), "train");
  const auto session = initialized_session(graph_);
  session->run(train);
  const std::vector<NamedTensor> values = session->snapshot(graph_.variables()).tensors();
  EXPECT_EQ(values[0].tensor,
            Tensor::from<float>({1 - 0.125f * 2 * 4 * 7, 2 - 0.125f * 4 * 4 * 7}));
  EXPECT_EQ(values[1].tensor, Tensor::scalar(4 - 0.125 * 5 * 7));
  EXPECT_EQ(values[2].tensor, Tensor::scalar(7.0f));
  EXPECT_EQ(values[3].tensor, Tensor::scalar(7.0f));
  EXPECT_EQ(values[4].tensor, Tensor::scalar(7));
  static_cast<void>(still);
  static_cast<void>(count);
}

TEST_F(GradientsTest, UsesTheGivenVariablesAndRate) {
  const auto v = build_.variable("v", Tensor::scalar(1.0f));
  const auto w = build_.variable("w", Tensor::scalar(1.0f));
  const auto loss = build_.op("Mul", "loss", {v, w});
  const auto rate = build_.placeholder<float>("rate", {});
  const auto train =
      build_.gradient_descent("train", loss, {.learning_rate_value = rate, .variables = {w}});
  const auto session = initialized_session(graph_);
  session->run(train, {{rate, Tensor::scalar(0.25f)}});
  const std::vector<NamedTensor> values = session->snapshot(graph_.variables()).tensors();
  EXPECT_EQ(values[0].tensor, Tensor::scalar(1.0f));
  EXPECT_EQ(values[1].tensor, Tensor::scalar(0.75f));
}

TEST_F(GradientsTest, RejectsADescentThatChangesNothing) {
  const auto v = build_.variable("v", Tensor::scalar(1.0f));
  const auto count = build_.variable("count", Tensor::scalar(1));
  EXPECT_THAT([&] { build_.gradient_descent("train", a_, {.learning_rate = 1}); },
              ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"train\""), HasSubstr("a:0"))));
  EXPECT_THROW(build_.gradient_descent("train", v, {.learning_rate = 1, .variables = {count}}),
               InvalidArgumentError);
  const auto rate = build_.constant("rate", 1.0);
  EXPECT_THAT([&] { build_.gradient_descent("train", v, {.learning_rate_value = rate}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("float64")));
  EXPECT_EQ(graph_.find_operation("train"), nullptr);
  EXPECT_NO_THROW(build_.gradient_descent("train", v, {.learning_rate = 1}));
}

// SV-54: a graph without training is imported, extended, and trained.
TEST_F(GradientsTest, TrainsImportedVariables) {
  InitializedGraph it("contract_resource");
  GraphBuilder build(it.graph);
  const auto matrix = it.variable("matrix");
  const auto loss = build.op("Sum", "loss", {matrix, build.constant("axes", std::vector{0, 1})});
  const auto train =
      build.gradient_descent("descend", loss, {.learning_rate = 1, .variables = {matrix}});
  it.session->run(train);
  EXPECT_EQ(it.value("matrix"), Tensor::from<float>({-1, 0, 1, 2, 3, 4}, {2, 3}));

  InitializedGraph other("contract_reference");
  GraphBuilder refused(other.graph);
  const auto reference = other.variable("matrix");
  EXPECT_THROW(refused.gradient_descent("descend", reference,
                                        {.learning_rate = 1, .variables = {reference}}),
               UnimplementedError);
  EXPECT_THROW(refused.gradients("g", {reference}, {reference}), UnimplementedError);
}

}  // namespace
}  // namespace crochet::tensorflow
