// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <latch>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/support/local_variables.h"

namespace crochet::local::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// An operation that adds 1 to every element of an owned variable, in place.
Operation add_one(Graph& graph, const std::string& name, const Variable& variable) {
  return graph.add(
      {.name = name, .updates = {variable}, .kernel = [variable](KernelContext& context) {
         for (float& x : context.variable(variable).mutable_flat<float>()) ++x;
       }});
}

BorrowedArray borrow_vector(std::vector<float>& array) {
  return {.view = [&array] {
    return ArrayView{DType::kFloat,
                     {static_cast<int64_t>(array.size())},
                     reinterpret_cast<std::byte*>(array.data())};
  }};
}

void assign(crochet::Session& session, const Variable& variable, const Tensor& value) {
  const Assignment assignment = {variable, value.shape(), [&](std::span<std::byte> destination) {
                                   ASSERT_EQ(destination.size(), value.num_bytes());
                                   std::memcpy(destination.data(), value.bytes().data(),
                                               destination.size());
                                 }};
  session.assign({&assignment, 1});
}

TEST(LocalSessionTest, PassesValuesFromOperationToOperation) {
  Graph graph;
  const Output a = graph.value("a", [] { return Tensor::scalar(3.0f); });
  const Output square = graph.add(
      {.name = "square", .inputs = {a}, .num_outputs = 1, .kernel = [](KernelContext& context) {
         const float x = context.input(0).scalar<float>();
         context.set_output(0, Tensor::scalar(x * x));
       }})[0];
  const auto session = graph.new_session("");
  EXPECT_EQ(session->run(square).scalar<float>(), 9);
  EXPECT_EQ(session->run(square, {{a, Tensor::scalar(5.0f)}}).scalar<float>(), 25);
  EXPECT_EQ(session->run(square).scalar<float>(), 9);
}

TEST(LocalSessionTest, KeepsAFedOutputThoughItsOperationRuns) {
  Graph graph;
  const Operation pair =
      graph.add({.name = "pair", .num_outputs = 2, .kernel = [](KernelContext& context) {
                   context.set_output(0, Tensor::scalar(1.0f));
                   context.set_output(1, Tensor::scalar(2.0f));
                 }});
  const auto session = graph.new_session("");
  const FetchValues values = session->run({pair[0], pair[1]}, {{pair[0], Tensor::scalar(10.0f)}});
  EXPECT_EQ(values[0].scalar<float>(), 10);
  EXPECT_EQ(values[1].scalar<float>(), 2);
}

TEST(LocalSessionTest, LeavesAnOutputUnsetThatTheKernelDidNotSet) {
  Graph graph;
  const Output nothing = graph.add({.name = "nothing", .num_outputs = 1})[0];
  EXPECT_FALSE(graph.new_session("")->run(nothing).tensor().is_set());
}

TEST(LocalSessionTest, ForgetsTheValuesOfARun) {
  Graph graph;
  bool computes = true;
  const Output value =
      graph.add({.name = "v", .num_outputs = 1, .kernel = [&](KernelContext& context) {
                   if (computes) context.set_output(0, Tensor::scalar(1.0f));
                 }})[0];
  const auto session = graph.new_session("");
  EXPECT_TRUE(session->run(value).tensor().is_set());
  computes = false;
  EXPECT_FALSE(session->run(value).tensor().is_set());
}

TEST(LocalSessionTest, ComputesNothingIfTheRequestIsWrong) {
  Graph graph;
  int computed = 0;
  const Output value = graph.value("v", [&] { return Tensor::scalar(++computed); });
  const auto session = graph.new_session("");
  const Tensor one = Tensor::scalar(1);
  EXPECT_THROW(session->run(value, {{value, one}, {value, one}}), InvalidArgumentError);
  EXPECT_EQ(session->run(value).scalar<int>(), 1);
}

TEST(LocalSessionTest, SharesAnOwnedVariableWithASnapshotUntilItIsUpdated) {
  Graph graph;
  const Variable variable = graph.variable("w", Tensor::zeros<float>({100}));
  const Operation update = add_one(graph, "update", variable);
  const auto session = graph.new_session("");
  session->run(update);
  const Tensor first = snapshot_of(*session, variable);
  EXPECT_EQ(address_of(snapshot_of(*session, variable)), first.bytes().data());
  session->run(update);
  EXPECT_EQ(first.flat<float>()[99], 1);
  EXPECT_EQ(element(snapshot_of(*session, variable), 99), 2);
}

TEST(LocalSessionTest, UpdatesInPlaceWhenNoSnapshotIsHeld) {
  Graph graph;
  const Variable variable = graph.variable("w", Tensor::zeros<float>({100}));
  const Operation update = add_one(graph, "update", variable);
  const auto session = graph.new_session("");
  session->run(update);
  const std::byte* const place = address_of(snapshot_of(*session, variable));
  session->run(update);
  EXPECT_EQ(address_of(snapshot_of(*session, variable)), place);
}

TEST(LocalSessionTest, GivesNewSessionsTheInitialValue) {
  Graph graph;
  const Variable variable = graph.variable("w", Tensor::zeros<float>({100}));
  const Operation update = add_one(graph, "update", variable);
  graph.new_session("")->run(update);
  EXPECT_EQ(snapshot_of(*graph.new_session(""), variable), Tensor::zeros<float>({100}));
}

TEST(LocalSessionTest, KnowsVariablesAddedAfterItsCreation) {
  Graph graph;
  const auto session = graph.new_session("");
  const Variable late = graph.variable("late", Tensor::scalar(7.0f));
  EXPECT_EQ(snapshot_of(*session, late), Tensor::scalar(7.0f));
  const Variable later = graph.variable("later", Tensor::scalar(8.0f));
  assign(*session, later, Tensor::scalar(9.0f));
  EXPECT_EQ(snapshot_of(*session, later), Tensor::scalar(9.0f));
  const Operation update = add_one(graph, "update", late);
  session->run(update);
  EXPECT_EQ(snapshot_of(*session, late), Tensor::scalar(8.0f));
}

TEST(LocalSessionTest, SavesAndRestoresABorrowedArrayInPlace) {
  Graph graph;
  std::vector<float> array = {1, 2, 3};
  const Variable variable = graph.borrow("a", borrow_vector(array));
  const auto session = graph.new_session("");
  const Tensor before = snapshot_of(*session, variable);
  array = {4, 5, 6};
  EXPECT_EQ(before, Tensor::from<float>({1, 2, 3}));
  const float* const place = array.data();
  assign(*session, variable, before);
  EXPECT_THAT(array, ElementsAre(1, 2, 3));
  EXPECT_EQ(array.data(), place);
}

TEST(LocalSessionTest, TransposesAColumnMajorArray) {
  Graph graph;
  std::vector<float> array = {1, 4, 2, 5, 3, 6};  // Rows 1 2 3 and 4 5 6.
  const Variable variable =
      graph.borrow("a", {.view = [&] {
                     return ArrayView{DType::kFloat,
                                      {2, 3},
                                      reinterpret_cast<std::byte*>(array.data()),
                                      MemoryOrder::kColumnMajor};
                   }});
  const auto session = graph.new_session("");
  EXPECT_EQ(snapshot_of(*session, variable), Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  assign(*session, variable, Tensor::from<float>({10, 20, 30, 40, 50, 60}, {2, 3}));
  EXPECT_THAT(array, ElementsAre(10, 40, 20, 50, 30, 60));
}

TEST(LocalSessionTest, FollowsABorrowedArrayThatMoved) {
  Graph graph;
  std::vector<float> array = {1, 2, 3};
  const Variable variable = graph.borrow("a", borrow_vector(array));
  const auto session = graph.new_session("");
  std::vector<float> elsewhere = {7, 8, 9};
  array.swap(elsewhere);
  EXPECT_EQ(snapshot_of(*session, variable), Tensor::from<float>({7, 8, 9}));
}

TEST(LocalSessionTest, RejectsABorrowedArrayThatChangedItsShape) {
  Graph graph;
  std::vector<float> array = {1, 2, 3};
  const Variable variable = graph.borrow("dense/kernel", borrow_vector(array));
  const auto session = graph.new_session("");
  array.push_back(4);
  EXPECT_THAT([&] { snapshot_of(*session, variable); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("dense/kernel"), HasSubstr("[3]"), HasSubstr("[4]"))));
  EXPECT_THROW(assign(*session, variable, Tensor::from<float>({1, 2, 3})), FailedPreconditionError);
  EXPECT_THAT(array, ElementsAre(1, 2, 3, 4));
}

TEST(LocalSessionTest, ResizesAnArrayThatMayGrow) {
  Graph graph;
  std::vector<float> array = {1, 2, 3};
  BorrowedArray growing = borrow_vector(array);
  growing.resize = [&](const Shape& shape) { array.resize(static_cast<size_t>(shape[0])); };
  const Variable variable = graph.borrow("a", growing);
  const auto session = graph.new_session("");
  array.push_back(4);
  EXPECT_EQ(snapshot_of(*session, variable), Tensor::from<float>({1, 2, 3, 4}));
  assign(*session, variable, Tensor::from<float>({9, 8}));
  EXPECT_THAT(array, ElementsAre(9, 8));
}

// A restore needs neither a second copy of the state nor fresh memory.
TEST(LocalSessionTest, AssignsIntoTheVariablesOwnMemoryUnlessItIsShared) {
  Graph graph;
  const Variable variable = graph.variable("w", Tensor::zeros<float>({100}));
  const auto session = graph.new_session("");
  const auto data = [&] {
    return session->snapshot({&variable, 1}).tensors()[0].tensor.bytes().data();
  };
  const std::byte* const own = data();
  const std::byte* filled = nullptr;
  const Assignment assignment = {variable, Shape{100}, [&](std::span<std::byte> destination) {
                                   filled = destination.data();
                                   std::ranges::fill(destination, std::byte{});
                                 }};
  session->assign({&assignment, 1});
  EXPECT_EQ(filled, own);
  EXPECT_EQ(data(), own);
  const Snapshot held = session->snapshot({&variable, 1});
  session->assign({&assignment, 1});
  EXPECT_NE(filled, own);
  EXPECT_EQ(data(), filled);
}

TEST(LocalSessionTest, AssignsStrings) {
  Graph graph;
  const auto words = graph.variable("words", Tensor::from({"a", "b"}));
  graph.name("now", words);
  const auto session = graph.new_session("");
  const Tensor next = Tensor::from({"cat", "dog"});
  session->assign(
      std::vector<Assignment>{{.variable = words, .shape = {2}, .strings = [&] { return next; }}});
  EXPECT_EQ(session->run("now").tensor(), next);
}

TEST(LocalSessionTest, AssignsNothingIfOneShapeIsWrong) {
  Graph graph;
  std::vector<float> array = {1, 2, 3};
  const Variable lent = graph.borrow("lent", borrow_vector(array));
  const Variable owned = graph.variable("owned", Tensor::zeros<float>({2}));
  const auto session = graph.new_session("");
  int fills = 0;
  const auto fill = [&](std::span<std::byte>) { ++fills; };
  const std::vector<Assignment> assignments = {{lent, Shape{3}, fill}, {owned, Shape{3}, fill}};
  EXPECT_THAT([&] { session->assign(assignments); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("\"owned\""), HasSubstr("[2]"), HasSubstr("[3]"))));
  EXPECT_EQ(fills, 0);
}

TEST(LocalSessionTest, RejectsVariablesOfAnotherGraph) {
  Graph graph;
  Graph other;
  const Variable foreign = other.variable("foreign", Tensor::scalar(1.0f));
  const auto session = graph.new_session("");
  EXPECT_THAT([&] { snapshot_of(*session, foreign); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"foreign\"")));
  EXPECT_THROW(assign(*session, foreign, Tensor::scalar(2.0f)), InvalidArgumentError);
  EXPECT_THROW(snapshot_of(*session, Variable()), InvalidArgumentError);
}

class HalfDoneStepTest : public testing::Test {
 protected:
  Operation add_update(bool intact_at_end_of_input) {
    return graph_.add({.name = "update",
                       .changes_borrowed = true,
                       .intact_at_end_of_input = intact_at_end_of_input,
                       .kernel = [this](KernelContext&) {
                         ++array_[0];
                         if (fails) fails();
                         ++array_[1];
                       }});
  }

  Graph graph_;
  std::vector<float> array_ = {0, 0};
  const Variable variable_ = graph_.borrow("a", borrow_vector(array_));
  std::function<void()> fails;
};

TEST_F(HalfDoneStepTest, AllowsNoSnapshotUntilTheNextRestore) {
  const Operation update = add_update(true);
  const auto session = graph_.new_session("");
  fails = [] { throw std::runtime_error("mine"); };
  EXPECT_THROW(session->run(update), std::runtime_error);
  EXPECT_THAT([&] { snapshot_of(*session, variable_); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("\"update\"")));
  fails = nullptr;
  session->run(update);
  EXPECT_THROW(snapshot_of(*session, variable_), FailedPreconditionError);
  assign(*session, variable_, Tensor::from<float>({5, 5}));
  EXPECT_EQ(snapshot_of(*session, variable_), Tensor::from<float>({5, 5}));
}

TEST_F(HalfDoneStepTest, AllowsASnapshotIfTheInputEndedBeforeTheStep) {
  const Operation update = add_update(true);
  const auto session = graph_.new_session("");
  fails = [] { throw OutOfRangeError("the data ended"); };
  EXPECT_THROW(session->run(update), OutOfRangeError);
  fails = [] { throw StopIteration(); };
  EXPECT_THROW(session->run(update), StopIteration);
  EXPECT_EQ(snapshot_of(*session, variable_).num_elements(), 2);
}

TEST_F(HalfDoneStepTest, AllowsNoSnapshotIfTheInputEndedWithinTheUpdate) {
  const Operation update = add_update(false);
  const auto session = graph_.new_session("");
  fails = [] { throw OutOfRangeError("the data ended"); };
  EXPECT_THROW(session->run(update), OutOfRangeError);
  EXPECT_THROW(snapshot_of(*session, variable_), FailedPreconditionError);
}

TEST_F(HalfDoneStepTest, AllowsNoSnapshotAfterAFailedAssignment) {
  const auto session = graph_.new_session("");
  const Assignment failing = {variable_, Shape{2}, [this](std::span<std::byte>) {
                                array_[0] = 9;
                                throw DataLossError("a wrong byte");
                              }};
  EXPECT_THROW(session->assign({&failing, 1}), DataLossError);
  EXPECT_THROW(snapshot_of(*session, variable_), FailedPreconditionError);
  assign(*session, variable_, Tensor::from<float>({5, 5}));
  EXPECT_EQ(snapshot_of(*session, variable_), Tensor::from<float>({5, 5}));
}

TEST(LocalSessionTest, CloseWaitsForTheRunInFlight) {
  Graph graph;
  std::latch running(1);
  std::latch may_end(1);
  bool ended = false;
  const Operation slow = graph.add({.name = "slow", .kernel = [&](KernelContext&) {
                                      running.count_down();
                                      may_end.wait();
                                      ended = true;
                                    }});
  const auto session = graph.new_session("");
  std::thread runner([&] { session->run(slow); });
  running.wait();
  std::thread closer([&] {
    session->close();
    EXPECT_TRUE(ended);
  });
  may_end.count_down();
  closer.join();
  runner.join();
  EXPECT_THROW(session->run(slow), FailedPreconditionError);
}

TEST(LocalSessionTest, ReadsAndAssignsVariablesByName) {
  Graph graph;
  graph.variable("rate", Tensor::scalar(0.5f));
  graph.variable("words", Tensor::from({"a", "b"}));
  std::vector<double> weights = {1, 2, 3};
  graph.borrow("weights", {.view = [&weights] {
                 return ArrayView{DType::kDouble,
                                  {static_cast<int64_t>(weights.size())},
                                  reinterpret_cast<std::byte*>(weights.data())};
               }});
  const auto session = graph.new_session("");
  const Tensor before = session->read_variable("rate");
  session->assign_variable("rate", Tensor::scalar(0.25f));
  EXPECT_EQ(session->read_variable("rate").scalar<float>(), 0.25f);
  EXPECT_EQ(before.scalar<float>(), 0.5f);
  session->assign_variable("words", Tensor::from({"c", "d"}));
  EXPECT_EQ(session->read_variable("words"), Tensor::from({"c", "d"}));
  session->assign_variable("weights", Tensor::from<double>({4, 5, 6}));
  EXPECT_EQ(weights, (std::vector<double>{4, 5, 6}));
  EXPECT_THAT([&] { session->read_variable("rat"); },
              ThrowsMessage<NotFoundError>(
                  "the graph has no variable named \"rat\"; it has: rate, weights, words"));
  EXPECT_THROW(session->assign_variable("rate", Tensor::scalar(1)), InvalidArgumentError);
  EXPECT_THROW(session->assign_variable("rate", Tensor::from<float>({1, 2})), InvalidArgumentError);
  EXPECT_EQ(session->read_variable("rate").scalar<float>(), 0.25f);
}

// In TensorFlow, a variable's name fetches its value.
TEST(LocalSessionTest, FetchesAVariableByItsName) {
  Graph graph;
  const OwnedVariable weights = graph.variable("weights", Tensor::from<float>({1, 2}));
  const Operation train =
      graph.op("train", {update(weights)}, [](std::span<float> w) { w[0] += 1; });
  const auto session = graph.new_session("");
  session->run(train);
  EXPECT_EQ(session->run("weights").tensor(), Tensor::from<float>({2, 2}));
  EXPECT_EQ(session->run({"weights", "weights"})[1].tensor(), Tensor::from<float>({2, 2}));
  EXPECT_THROW(session->run("weight"), NotFoundError);
}

// Programs may have operations of that name, as was necessary before.
TEST(LocalSessionTest, AnOperationComesBeforeAVariableOfItsName) {
  Graph graph;
  const OwnedVariable rate = graph.variable("rate", Tensor::scalar(0.5f));
  graph.op("rate", {rate}, [](float r) { return 2 * r; });
  EXPECT_EQ(graph.new_session("")->run("rate").scalar<float>(), 1.0f);
}

// A damaged checkpoint may have any byte for a bool.
TEST(LocalSessionTest, AssignsNoBoolThatIsNeitherTrueNorFalse) {
  Graph graph;
  graph.variable("owned", Tensor::zeros<bool>({20}));
  std::array<bool, 20> borrowed = {};
  graph.borrow(
      "borrowed", {.view = [&borrowed] {
        return ArrayView{DType::kBool, {20}, reinterpret_cast<std::byte*>(borrowed.data())};
      }});
  const auto session = graph.new_session("");
  Tensor bad = Tensor::zeros<bool>({20});
  bad.mutable_flat<bool>()[3] = true;
  for (const char* const name : {"owned", "borrowed"}) {
    session->assign_variable(name, bad);
    EXPECT_EQ(session->read_variable(name), bad);
  }
  bad.mutable_bytes()[7] = std::byte{2};
  for (const char* const name : {"owned", "borrowed"})
    EXPECT_THROW(session->assign_variable(name, bad), InvalidArgumentError) << name;
  for (const bool& value : borrowed) EXPECT_EQ(value, &value == &borrowed[3]);
}

TEST(LocalSessionTest, RejectsAStepBeyondTheLargest) {
  Graph graph;
  const Operation train = graph.increment_global_step();
  const auto session = graph.new_session("");
  session->assign_variable("global_step", Tensor::scalar(kMaxGlobalStep - 1));
  session->run(train);
  EXPECT_EQ(read_global_step(*session), kMaxGlobalStep);
  EXPECT_THROW(session->run(train), FailedPreconditionError);
  for (const int64_t step :
       {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    session->assign_variable("global_step", Tensor::scalar(step));
    EXPECT_THROW(session->run(train), FailedPreconditionError);
    EXPECT_THROW(read_global_step(*session), FailedPreconditionError);
  }
}

}  // namespace
}  // namespace crochet::local::internal
