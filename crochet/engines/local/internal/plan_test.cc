// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::local::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class PlanTest : public testing::Test {
 protected:
  Operation add(OperationOptions options) { return graph_.add(std::move(options)); }

  std::vector<std::string> order(const std::vector<Output>& fetches,
                                 const std::vector<Output>& fed = {}) {
    const Plan plan(graph_, fetches, fed);
    std::vector<std::string> names;
    for (const Node* const node : plan.order()) names.push_back(node->name);
    return names;
  }

  Graph graph_;
  const Variable x_ = graph_.variable("x", Tensor::scalar(0.0f));
  const Variable y_ = graph_.variable("y", Tensor::scalar(0.0f));
};

TEST_F(PlanTest, RunsNothingForNothing) {
  add({.name = "a"});
  EXPECT_THAT(order({}), IsEmpty());
}

TEST_F(PlanTest, RunsOnlyWhatTheFetchesNeed) {
  const Operation a = add({.name = "a", .num_outputs = 1});
  add({.name = "b"});
  const Operation c = add({.name = "c", .inputs = {a[0]}});
  const Operation d = add({.name = "d", .control_inputs = {c}});
  add({.name = "e", .control_inputs = {d}});
  EXPECT_THAT(order({d}), ElementsAre("a", "c", "d"));
}

TEST_F(PlanTest, PrefersTheOrderOfAddition) {
  const Operation a = add({.name = "a"});
  const Operation b = add({.name = "b"});
  const Operation c = add({.name = "c", .control_inputs = {a}});
  const Operation d = add({.name = "d"});
  EXPECT_THAT(order({d, c, b, a}), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(order({d, b}), ElementsAre("b", "d"));
}

TEST_F(PlanTest, RunsAnOperationOnceHoweverOftenItIsNeeded) {
  const Operation a = add({.name = "a", .num_outputs = 2});
  const Operation b = add({.name = "b", .inputs = {a[0], a[1], a[0]}, .control_inputs = {a}});
  EXPECT_THAT(order({b, b, a[0], a[1]}), ElementsAre("a", "b"));
}

TEST_F(PlanTest, OrdersByAfterButNeverPullsIn) {
  const Operation late = add({.name = "late"});
  const Operation later = add({.name = "later", .after = {late}});
  EXPECT_THAT(order({later}), ElementsAre("later"));
  EXPECT_THAT(order({later, late}), ElementsAre("late", "later"));
}

TEST_F(PlanTest, OrdersByAfterAcrossOperationsThatWerePulledIn) {
  const Operation train = add({.name = "train"});
  const Operation value = add({.name = "value", .num_outputs = 1, .after = {train}});
  const Operation report = add({.name = "report", .inputs = {value[0]}});
  EXPECT_THAT(order({report, train}), ElementsAre("train", "value", "report"));
}

TEST_F(PlanTest, ReadsAVariableBeforeItIsUpdated) {
  const Operation update = add({.name = "update", .updates = {x_}});
  const Operation read = add({.name = "read", .reads = {x_}});
  EXPECT_THAT(order({update, read}), ElementsAre("read", "update"));
  EXPECT_THAT(order({update}), ElementsAre("update"));
}

TEST_F(PlanTest, ReadsAnUpdatedVariableIfTheReadDependsOnTheUpdate) {
  const Operation update = add({.name = "update", .updates = {x_}});
  const Operation between = add({.name = "between", .control_inputs = {update}});
  const Operation early = add({.name = "early", .reads = {x_}});
  const Operation late = add({.name = "late", .control_inputs = {between}, .reads = {x_}});
  EXPECT_THAT(order({update, early, late}), ElementsAre("early", "update", "between", "late"));
}

TEST_F(PlanTest, ReadsAfterTheUpdateIfTheReadSaysSo) {
  const Operation update = add({.name = "update", .updates = {x_}});
  const Operation read = add({.name = "read", .after = {update}, .reads = {x_}});
  EXPECT_THAT(order({read, update}), ElementsAre("update", "read"));
}

TEST_F(PlanTest, OrdersOperationsThatReadAndUpdateTheSame) {
  const Operation a = add({.name = "a", .reads = {x_}, .updates = {x_}});
  const Operation b = add({.name = "b", .reads = {x_}, .updates = {x_}});
  EXPECT_THAT(order({b, a}), ElementsAre("a", "b"));
}

// Each of the two reads a variable that the other updates: no order is right, but it is fixed.
TEST_F(PlanTest, FindsAnOrderForReadsAndUpdatesThatCross) {
  const Operation a = add({.name = "a", .reads = {x_}, .updates = {y_}});
  const Operation b = add({.name = "b", .reads = {y_}, .updates = {x_}});
  EXPECT_THAT(order({a, b}), order({b, a}));
  EXPECT_THAT(order({a, b}), testing::SizeIs(2));
}

TEST_F(PlanTest, OmitsOperationsThatFeedsReplace) {
  const Operation a = add({.name = "a", .num_outputs = 1});
  const Operation b = add({.name = "b", .inputs = {a[0]}, .num_outputs = 1});
  EXPECT_THAT(order({b}, {a[0]}), ElementsAre("b"));
  EXPECT_THAT(order({b[0]}, {b[0]}), IsEmpty());
}

TEST_F(PlanTest, RunsAFedOperationForItsOtherOutputs) {
  const Operation a = add({.name = "a", .num_outputs = 2});
  const Operation b = add({.name = "b", .inputs = {a[0], a[1]}});
  EXPECT_THAT(order({b}, {a[0]}), ElementsAre("a", "b"));
}

TEST_F(PlanTest, RejectsFeedsWithoutAValueOrRepeated) {
  const Operation a = add({.name = "a", .num_outputs = 1});
  Graph other;
  const Output foreign = other.value("foreign", [] { return Tensor(); });
  EXPECT_THAT(
      [&] {
        order({}, {a[0], a[0]});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("a:0 is fed twice")));
  EXPECT_THROW(order({}, {a}), InvalidArgumentError);
  EXPECT_THROW(order({}, {foreign}), InvalidArgumentError);
  EXPECT_THROW(order({}, {Output()}), InvalidArgumentError);
}

TEST_F(PlanTest, RejectsFetchesOfAnotherGraph) {
  Graph other;
  const Output foreign = other.value("foreign", [] { return Tensor(); });
  EXPECT_THAT([&] { order({foreign}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("foreign:0")));
  EXPECT_THROW(order({Output()}), InvalidArgumentError);
}

TEST_F(PlanTest, ListsTheSlotsOfTheRun) {
  const size_t first = GraphState::of(graph_).num_slots;  // After those of the variables' values.
  const Operation a = add({.name = "a", .num_outputs = 2});
  const Operation none = add({.name = "none"});
  const Operation b = add({.name = "b", .num_outputs = 1});
  add({.name = "other", .num_outputs = 3});
  const Operation c = add({.name = "c", .inputs = {b[0]}, .num_outputs = 2});
  const auto slots = [&](const std::vector<Output>& fetches, const std::vector<Output>& fed) {
    const Plan plan(graph_, fetches, fed);
    std::vector<std::pair<size_t, size_t>> slots;
    for (const Plan::SlotRange& part : plan.slots())
      slots.emplace_back(part.begin - first, part.end - first);
    return slots;
  };
  using Pair = std::pair<size_t, size_t>;
  EXPECT_THAT(slots({}, {}), IsEmpty());
  EXPECT_THAT(slots({a, none, c}, {}), ElementsAre(Pair(0, 3), Pair(6, 8)));
  EXPECT_THAT(slots({c}, {b[0], a[1]}), ElementsAre(Pair(1, 3), Pair(6, 8)));
  EXPECT_THAT(slots({a[0]}, {a[1], c[1]}), ElementsAre(Pair(0, 2), Pair(7, 8)));
}

TEST_F(PlanTest, IsForTheSameFetchesAndFeedsInTheSameOrder) {
  const std::vector<Output> ab = {add({.name = "a", .num_outputs = 1})[0], add({.name = "b"})};
  const std::vector<Output> ba = {ab[1], ab[0]};
  const std::vector<Output> fed = {ab[0]};
  const Plan plan(graph_, ab, fed);
  const Feeds feeds = {{ab[0], Tensor::scalar(1.0f)}};
  EXPECT_TRUE(plan.matches(ab, feeds));
  EXPECT_FALSE(plan.matches(ba, feeds));
  EXPECT_FALSE(plan.matches(ab, {}));
}

}  // namespace
}  // namespace crochet::local::internal
