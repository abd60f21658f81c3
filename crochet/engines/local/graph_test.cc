// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/session/graph.h"
#include "crochet/session/session.h"
#include "tests/support/saved_counter.h"

namespace crochet::local {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

BorrowedArray borrowed(std::vector<float>& array) {
  return {.view = [&array] {
    return ArrayView{DType::kFloat,
                     {static_cast<int64_t>(array.size())},
                     reinterpret_cast<std::byte*>(array.data())};
  }};
}

TEST(LocalGraphTest, RejectsNamesThatAreTaken) {
  Graph graph;
  graph.add({.name = "a"});
  graph.variable("a", Tensor::scalar(1.0f));
  EXPECT_THAT([&] { graph.add({.name = "a"}); },
              ThrowsMessage<AlreadyExistsError>(HasSubstr("\"a\"")));
  EXPECT_THROW(graph.value("a", [] { return Tensor(); }), AlreadyExistsError);
  EXPECT_THROW(graph.variable("a", Tensor::scalar(1.0f)), AlreadyExistsError);
  std::vector<float> array(3);
  EXPECT_THROW(graph.borrow("a", borrowed(array)), AlreadyExistsError);
}

TEST(LocalGraphTest, RejectsAMissingNameOrValue) {
  Graph graph;
  EXPECT_THROW(graph.add({}), InvalidArgumentError);
  EXPECT_THROW(graph.variable("", Tensor::scalar(1.0f)), InvalidArgumentError);
  EXPECT_THROW(graph.variable("v", Tensor()), InvalidArgumentError);
  EXPECT_THROW(graph.borrow("v", {.view = [] { return ArrayView{}; }}), InvalidArgumentError);
  EXPECT_THAT(graph.variables(), testing::IsEmpty());
}

TEST(LocalGraphTest, RejectsAllChangesOnceFinalized) {
  Graph graph;
  graph.create_global_step();
  graph.finalize();
  std::vector<float> array(3);
  EXPECT_THROW(graph.add({.name = "a"}), FailedPreconditionError);
  EXPECT_THROW(graph.value("a", [] { return Tensor(); }), FailedPreconditionError);
  EXPECT_THROW(graph.variable("v", Tensor::scalar(1.0f)), FailedPreconditionError);
  EXPECT_THROW(graph.borrow("v", borrowed(array)), FailedPreconditionError);
  EXPECT_THROW(graph.increment_global_step({}), FailedPreconditionError);
  graph.unfinalize();
  graph.add({.name = "a"});
  EXPECT_THAT(graph.operation_names(), ElementsAre("global_step", "a"));
}

TEST(LocalGraphTest, RejectsOutputsOfAnotherGraph) {
  Graph graph;
  Graph other;
  const Output foreign = other.value("v", [] { return Tensor(); });
  for (OperationOptions options : {OperationOptions{.name = "a", .inputs = {foreign}},
                                   OperationOptions{.name = "a", .control_inputs = {foreign}},
                                   OperationOptions{.name = "a", .after = {foreign}}})
    EXPECT_THAT([&] { graph.add(options); },
                ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"a\""), HasSubstr("v:0"))));
}

TEST(LocalGraphTest, RejectsAnInputWithoutAValue) {
  Graph graph;
  const Operation no_value = graph.add({.name = "no_value"});
  EXPECT_THAT(
      [&] { graph.add({.name = "a", .inputs = {no_value}}); },
      ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"a\""), HasSubstr("no_value"))));
}

TEST(LocalGraphTest, RejectsVariablesThatItDoesNotOwn) {
  Graph graph;
  Graph other;
  std::vector<float> array(3);
  const Variable foreign = other.variable("foreign", Tensor::scalar(1.0f));
  const Variable lent = graph.borrow("lent", borrowed(array));
  for (const Variable& variable : {foreign, lent}) {
    EXPECT_THAT([&] { graph.add({.name = "a", .reads = {variable}}); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(variable.name())));
    EXPECT_THAT([&] { graph.add({.name = "a", .updates = {variable}}); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(variable.name())));
  }
}

TEST(LocalGraphTest, CountsStepsIfAsked) {
  Graph graph;
  EXPECT_FALSE(graph.global_step());
  graph.create_global_step();
  EXPECT_EQ(to_string(graph.global_step()), "global_step:0");
  EXPECT_THROW(graph.create_global_step(), AlreadyExistsError);
}

// TU-8: read in the run that increments it, the step is the previous one.
TEST(LocalGraphTest, CountsByMoreThanOne) {
  Graph graph;
  const Output step = create_global_step(graph);
  const Operation one = crochet::increment_global_step(graph);
  const Operation three = crochet::increment_global_step(graph, 3);
  const auto session = graph.new_session("");
  EXPECT_EQ(session->run({Output(one), step})[1].scalar<int64_t>(), 0);
  EXPECT_EQ(session->run({step, Output(three)})[0].scalar<int64_t>(), 1);
  EXPECT_EQ(session->run(step).scalar<int64_t>(), 4);
}

// TU-4: a step counter that the program created itself is found by its name.
TEST(LocalGraphTest, FindsAStepByItsName) {
  Graph graph;
  const Output step = graph.value("global_step", [] { return Tensor::scalar<int32_t>(3); });
  EXPECT_EQ(graph.global_step(), step);
  EXPECT_THROW(crochet::increment_global_step(graph), FailedPreconditionError);
}

TEST(LocalGraphTest, RejectsSettings) {
  Graph graph;
  EXPECT_THROW(graph.new_session("", {.serialized = "x"}), InvalidArgumentError);
}

TEST(LocalGraphTest, CreatesTheCounterForTheIncrement) {
  Graph graph;
  const Operation increment = graph.increment_global_step();
  EXPECT_THROW(graph.increment_global_step(), AlreadyExistsError);
  const auto session = graph.new_session("");
  session->run(increment);
  EXPECT_EQ(read_global_step(*session), 1);
}

TEST(LocalGraphTest, GroupsOperationsAndRunsThemOnce) {
  Graph graph;
  int calls = 0;
  const Operation a = graph.op("a", [&] { ++calls; });
  const Operation both = graph.group("both", {a, a, graph.group("none", {})});
  graph.new_session("")->run(both);
  EXPECT_EQ(calls, 1);
}

TEST(LocalGraphTest, KnowsObjectsThatAreSavedWithIt) {
  Graph graph;
  const auto shared = std::make_shared<SavedCounter>();
  SavedCounter borrowed;
  graph.saveable("shared", shared);
  graph.saveable("borrowed", borrowed);
  ASSERT_EQ(graph.saveables().size(), 2);
  EXPECT_EQ(graph.saveables()[0].object, shared);
  EXPECT_EQ(graph.saveables()[1].name, "borrowed");
  EXPECT_EQ(graph.saveables()[1].object.get(), &borrowed);
  EXPECT_FALSE(graph.saveables()[1].optional);
}

TEST(LocalGraphTest, RejectsObjectsThatCannotBeSaved) {
  Graph graph;
  SavedCounter number;
  graph.variable("v", Tensor::scalar(1.0f));
  graph.saveable("o", number);
  EXPECT_THROW(graph.saveable("o", number), AlreadyExistsError);
  EXPECT_THROW(graph.saveable("v", number), AlreadyExistsError);
  EXPECT_THROW(graph.variable("o", Tensor::scalar(1.0f)), AlreadyExistsError);
  EXPECT_THROW(graph.saveable("", number), InvalidArgumentError);
  EXPECT_THROW(graph.saveable("null", nullptr), InvalidArgumentError);
  graph.finalize();
  EXPECT_THROW(graph.saveable("late", number), FailedPreconditionError);
  EXPECT_EQ(graph.saveables().size(), 1);
}

TEST(LocalGraphTest, RejectsTypedOperationsOnceFinalized) {
  Graph graph;
  const Output x = graph.placeholder<float>("x", {});
  graph.finalize();
  EXPECT_THAT([&] { graph.op("late", {x}, [](float) {}); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("\"late\"")));
  EXPECT_THROW(graph.placeholder<float>("late", {}), FailedPreconditionError);
  EXPECT_THROW(graph.group("late", {}), FailedPreconditionError);
  EXPECT_THROW(graph.name("late", x), FailedPreconditionError);
  EXPECT_THROW(graph.increment_global_step(), FailedPreconditionError);
  EXPECT_THROW(graph.add_to_collection("late", x), FailedPreconditionError);
}

TEST(LocalGraphTest, RejectsReplacingAVariableOfStrings) {
  Graph graph;
  const Variable strings = graph.variable("strings", Tensor::from({"a", "b"}));
  EXPECT_THAT([&] { graph.add({.name = "a", .replaces = {strings}}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"strings\"")));
}

TEST(LocalGraphTest, RejectsUnsetVariables) {
  Graph graph;
  EXPECT_THROW(graph.add({.name = "a", .reads = {Variable()}}), InvalidArgumentError);
}

TEST(LocalGraphTest, RejectsATarget) {
  Graph graph;
  EXPECT_THAT([&] { graph.new_session("grpc://host:1"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("grpc://host:1")));
}

TEST(LocalGraphTest, ReportsTheShapeOfAResizableArray) {
  Graph graph;
  std::vector<float> array(3);
  EXPECT_EQ(graph.borrow("fixed", borrowed(array)).shape(), (Shape{3}));
  BorrowedArray growing = borrowed(array);
  growing.resize = [&](const Shape& shape) { array.resize(static_cast<size_t>(shape[0])); };
  EXPECT_EQ(graph.borrow("growing", growing).shape(), (Shape{Shape::kUnknownDimension}));
}

}  // namespace
}  // namespace crochet::local
