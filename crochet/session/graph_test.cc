// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/graph.h"

#include <list>
#include <stop_token>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/session/session.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class NamedLoop final : public BackgroundLoop {
 public:
  const std::string& name() const override { return name_; }
  std::vector<BackgroundTask> tasks(Session&, std::stop_token) override { return {}; }

 private:
  const std::string name_ = "examples";
};

// A graph of names that computes nothing.
class NamesGraph final : public Graph {
 public:
  Operation add(const std::string& name, int num_outputs) {
    check_not_finalized(name);
    operations_.push_back({.graph = this, .name = name, .num_outputs = num_outputs});
    return Operation(&operations_.back());
  }

  std::unique_ptr<Session> new_session(const std::string&, const SessionConfig&) override {
    throw UnimplementedError("a graph of names has no sessions");
  }
  const OperationInfo* find_operation(std::string_view name) const override {
    for (const OperationInfo& operation : operations_)
      if (operation.name == name) return &operation;
    return nullptr;
  }
  std::vector<std::string> operation_names() const override {
    std::vector<std::string> names;
    for (const OperationInfo& operation : operations_) names.push_back(operation.name);
    return names;
  }
  std::vector<Variable> variables() const override { return {}; }
  Output global_step() const override { return {}; }

 private:
  std::list<OperationInfo> operations_;
};

class GraphTest : public ::testing::Test {
 protected:
  GraphTest() {
    graph_.add("train", 0);
    graph_.add("loss", 1);
    graph_.add("gradients", 3);
    graph_.add("odd:name", 1);
  }

  // A name that does not exist in the graph.
  void expect_unknown(const std::string& name) {
    EXPECT_THAT([&] { graph_.output(name); },
                ThrowsMessage<NotFoundError>("the graph has nothing named \"" + name +
                                             "\"; it has: gradients, loss, odd:name, train"));
  }

  NamesGraph graph_;
};

TEST_F(GraphTest, FindsOperations) {
  EXPECT_EQ(graph_.operation("train").name(), "train");
  EXPECT_THAT([&] { graph_.operation("trian"); },
              ThrowsMessage<NotFoundError>("the graph has nothing named \"trian\"; it has: "
                                           "gradients, loss, odd:name, train"));
  EXPECT_THROW(graph_.operation("loss:0"), NotFoundError);
}

// With thousands of names, as in a TensorFlow graph, a complete list would be useless.
TEST_F(GraphTest, ListsTheClosestOfManyNames) {
  for (int i = 0; i < 1000; ++i) graph_.add(fmt::format("layer_{}/gradient_of_w", i), 1);
  graph_.add("layer_7/bias", 1);
  const auto expect_first = [&](const std::string& name, const std::string& first) {
    EXPECT_THAT(
        [&] { graph_.output(name); },
        ThrowsMessage<NotFoundError>(::testing::AllOf(
            ::testing::StartsWith("the graph has nothing named \"" + name +
                                  "\"; of its 1005 names, the closest are: " + first + ", "),
            ::testing::SizeIs(::testing::Le(400)))));
  };
  expect_first("trian:0", "train");
  expect_first("layer_7/bais", "layer_7/bias");
  expect_first("bias", "layer_7/bias");  // Without its scope.
}

TEST_F(GraphTest, FindsOutputs) {
  EXPECT_EQ(to_string(graph_.output("loss")), "loss:0");
  EXPECT_EQ(to_string(graph_.output("loss:0")), "loss:0");
  EXPECT_EQ(to_string(graph_.output("gradients:2")), "gradients:2");
  EXPECT_EQ(to_string(graph_.output("odd:name")), "odd:name:0");
  EXPECT_EQ(to_string(graph_.output("odd:name:0")), "odd:name:0");
}

TEST_F(GraphTest, ListsExistingNames) {
  for (const char* const name : {"", ":", ":0", "lost", "lost:0", "Loss", "loss ", "loss:0:0"})
    expect_unknown(name);
}

TEST_F(GraphTest, RejectsAnInvalidIndex) {
  for (const char* const index : {"1", "-1", "", "x", "0x", "+0", " 0", "99999999999999", "0 "})
    EXPECT_THAT([&] { graph_.output(std::string("loss:") + index); },
                ThrowsMessage<NotFoundError>("operation \"loss\": output " + std::string(index) +
                                             " of 1 does not exist"));
}

TEST_F(GraphTest, RejectsAnAmbiguousName) {
  EXPECT_THAT([&] { graph_.output("gradients"); },
              ThrowsMessage<InvalidArgumentError>(
                  "\"gradients\" is ambiguous: the operation has 3 outputs; choose one, as in "
                  "\"gradients:0\""));
}

TEST_F(GraphTest, ReportsThatAnOperationHasNoValue) {
  EXPECT_THAT(
      [&] { graph_.output("train"); },
      ThrowsMessage<InvalidArgumentError>("\"train\" has no value: the operation has no outputs"));
}

TEST_F(GraphTest, ReturnsTheOnlyValueOfAnOperation) {
  using internal::with_value;
  EXPECT_EQ(with_value(graph_.operation("loss")), graph_.output("loss"));
  EXPECT_EQ(with_value(graph_.output("gradients:2")), graph_.output("gradients:2"));
  EXPECT_EQ(with_value(Output()), Output());
  EXPECT_THAT([&] { with_value(graph_.operation("gradients")); },
              ThrowsMessage<InvalidArgumentError>(
                  "\"gradients\" as an input: the operation has 3 outputs; choose one, as in "
                  "gradients[0]"));
  EXPECT_THROW(with_value(graph_.operation("train")), InvalidArgumentError);
}

TEST_F(GraphTest, ResolvesNamesAtEveryDepth) {
  const Output loss = graph_.output("loss");
  const Fetches resolved = graph_.resolve(
      Fetches::Map{{"a", "loss"},
                   {"b", Fetches::List{"gradients:1", loss, graph_.operation("train")}},
                   {"c", {}}});
  std::vector<Output> leaves;
  flatten(resolved, leaves);
  EXPECT_THAT(leaves, ElementsAre(loss, graph_.output("gradients:1"), loss,
                                  Output(graph_.operation("train"))));
  EXPECT_TRUE(resolved.as_map()->at("c").empty());
  const Fetches train = graph_.resolve("train");
  EXPECT_EQ(*train.as_output(), Output(graph_.operation("train")));
  EXPECT_THROW(graph_.resolve(Fetches::List{"loss", "lost"}), NotFoundError);
}

TEST_F(GraphTest, RejectsOutputsOfAnotherGraph) {
  NamesGraph other;
  other.add("loss", 1);
  EXPECT_THAT([&] { graph_.resolve(other.output("loss")); },
              ThrowsMessage<InvalidArgumentError>("loss:0 is not an output of this graph"));
  EXPECT_THAT([&] { graph_.resolve(Fetches::List{Output()}); },
              ThrowsMessage<InvalidArgumentError>("(none) is not an output of this graph"));
}

TEST_F(GraphTest, KeepsCollectionsInOrder) {
  EXPECT_THAT(graph_.collection(kSummariesCollection), IsEmpty());
  graph_.add_to_collection(kSummariesCollection, graph_.output("loss"));
  graph_.add_to_collection(kSummariesCollection, graph_.output("gradients:0"));
  graph_.add_to_collection("others", graph_.output("gradients:1"));
  EXPECT_THAT(graph_.collection("summaries"),
              ElementsAre(graph_.output("loss"), graph_.output("gradients:0")));
  EXPECT_THAT(graph_.collection_names(), ElementsAre("others", "summaries"));
}

TEST_F(GraphTest, IsNotExtendedOnceFinalized) {
  graph_.finalize();
  EXPECT_TRUE(graph_.finalized());
  EXPECT_THAT(
      [&] { graph_.add("late", 1); },
      ThrowsMessage<FailedPreconditionError>("\"late\" cannot be added: the graph is finalized"));
  EXPECT_THROW(graph_.add_to_collection("summaries", graph_.output("loss")),
               FailedPreconditionError);
  EXPECT_THAT(graph_.collection("summaries"), IsEmpty());
  graph_.unfinalize();
  EXPECT_NO_THROW(graph_.add("late", 1));
}

class NoState : public Saveable {
 public:
  TensorMap save() const override { return {}; }
  void restore(const TensorMap&) override {}
};

TEST_F(GraphTest, RegistersSaveablesEvenOnceFinalized) {
  graph_.finalize();
  graph_.add_saveable({.name = "batches", .object = std::make_shared<NoState>()});
  graph_.add_saveable(
      {.name = "hooks/Patience", .object = std::make_shared<NoState>(), .optional = true});
  ASSERT_EQ(graph_.saveables().size(), 2);
  EXPECT_FALSE(graph_.saveables()[0].optional);
  EXPECT_EQ(graph_.saveables()[1].name, "hooks/Patience");
  EXPECT_TRUE(graph_.saveables()[1].optional);
}

TEST_F(GraphTest, HoldsAttachedObjectsByType) {
  graph_.finalize();
  graph_.attach(std::make_shared<int>(1));
  graph_.attach(std::make_shared<int>(2));
  const auto ints = graph_.attached<int>();
  ASSERT_EQ(ints.size(), 2);
  EXPECT_EQ(*ints[0], 1);
  EXPECT_EQ(*ints[1], 2);
  EXPECT_THAT(graph_.attached<float>(), IsEmpty());
}

TEST_F(GraphTest, NeedsNoInitialisationByDefault) {
  EXPECT_TRUE(graph_.starts_initialized());
  EXPECT_FALSE(graph_.default_init_op());
  EXPECT_FALSE(graph_.default_ready_op());
  EXPECT_FALSE(graph_.default_ready_for_local_init_op());
  EXPECT_FALSE(graph_.default_local_init_op());
  EXPECT_THROW(graph_.add_global_step(), UnimplementedError);
  EXPECT_THROW(graph_.add_global_step_increment(1, {}), UnimplementedError);
}

TEST_F(GraphTest, RegistersANameOnce) {
  graph_.add_saveable({.name = "batches", .object = std::make_shared<NoState>()});
  const RegisteredSaveable again = {.name = "batches", .object = std::make_shared<NoState>()};
  EXPECT_THAT([&] { graph_.add_saveable(again); },
              ThrowsMessage<AlreadyExistsError>("two objects to save have the name \"batches\""));
  EXPECT_EQ(graph_.saveables().size(), 1);
  graph_.remove_saveable("batches");
  graph_.remove_saveable("never there");
  EXPECT_THAT(graph_.saveables(), IsEmpty());
  EXPECT_NO_THROW(graph_.add_saveable(again));
}

TEST_F(GraphTest, HoldsBackgroundLoops) {
  const auto loop = std::make_shared<NamedLoop>();
  EXPECT_THAT(graph_.background_loops(), IsEmpty());
  graph_.add_background_loop(loop);
  EXPECT_THAT(graph_.background_loops(), ElementsAre(loop));
  EXPECT_THROW(graph_.add_background_loop(nullptr), InvalidArgumentError);
  graph_.finalize();
  EXPECT_THAT([&] { graph_.add_background_loop(loop); },
              ThrowsMessage<FailedPreconditionError>(
                  "\"examples\" cannot be added: the graph is finalized"));
}

}  // namespace
}  // namespace crochet
