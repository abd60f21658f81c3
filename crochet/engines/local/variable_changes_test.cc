// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What update() and replace() preserve: the values, the memory, and the state if
// something fails.
#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/eigen.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"
#include "tests/support/local_variables.h"

namespace crochet::local {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const void* memory_of(crochet::Session& session, const Variable& variable) {
  return address_of(snapshot_of(session, variable));
}

void assign_zeros(crochet::Session& session, const Variable& variable) {
  const Assignment assignment = {variable, variable.shape(), [](std::span<std::byte> bytes) {
                                   std::memset(bytes.data(), 0, bytes.size());
                                 }};
  session.assign({&assignment, 1});
}

using In = std::span<const float>;
using Out = std::span<float>;

TEST(VariableChangesTest, UpdateChangesInPlace) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::zeros<float>({100}));
  const OwnedVariable m = graph.variable("m", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  const OwnedVariable n = graph.variable("n", Tensor::scalar(int64_t{7}));
  const auto apply = graph.op("apply", {update(w), update(m), update(n)},
                              [](Vector<float> x, Matrix y, int64_t& z) {
                                x.array() += 1;
                                y.transposeInPlace();
                                z *= 2;
                              });
  const auto session = graph.new_session("");
  session->run(apply);
  const void* const place = memory_of(*session, w);
  session->run(apply);
  EXPECT_EQ(memory_of(*session, w), place);
  EXPECT_EQ(element(snapshot_of(*session, w), 99), 2);
  EXPECT_EQ(snapshot_of(*session, n), Tensor::scalar(int64_t{28}));
  session->run(apply);
  EXPECT_EQ(snapshot_of(*session, m), Tensor::from<float>({1, 3, 2, 4}, {2, 2}));
}

TEST(VariableChangesTest, MayNameAVariableTwice) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::zeros<float>({100}));
  const OwnedVariable m = graph.variable("m", Tensor::zeros<float>({100}));
  const Operation change = graph.add({.name = "change",
                                      .updates = {m, m},
                                      .replaces = {w, w},
                                      .kernel = [&](KernelContext& context) {
                                        std::ranges::fill(context.next(w).mutable_flat<float>(), 1);
                                        context.variable(m).mutable_flat<float>()[0] += 1;
                                      }});
  const auto session = graph.new_session("");
  const std::vector<Tensor> held = {snapshot_of(*session, w), snapshot_of(*session, m)};
  session->run(change);
  EXPECT_EQ(element(snapshot_of(*session, w), 99), 1);
  EXPECT_EQ(element(snapshot_of(*session, m), 0), 1);
  EXPECT_EQ(held[0].flat<float>()[99], 0);
  EXPECT_EQ(held[1].flat<float>()[0], 0);
}

TEST(VariableChangesTest, ReplaceReadsTheOldAndWritesTheNext) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::from<float>({1, 2, 3, 4, 5}));
  const OwnedVariable n = graph.variable("n", Tensor::scalar(1));
  const auto shift = graph.op("shift", {replace(w), replace(n)},
                              [](In old, Out next, int number, int& next_number) {
                                for (size_t i = 0; i < old.size(); ++i)
                                  next[i] = old[(i + 1) % old.size()];
                                next_number = number + 1;
                              });
  const auto session = graph.new_session("");
  session->run(shift);
  session->run(shift);
  EXPECT_EQ(snapshot_of(*session, w), Tensor::from<float>({3, 4, 5, 1, 2}));
  EXPECT_EQ(snapshot_of(*session, n), Tensor::scalar(3));
}

TEST(VariableChangesTest, AReadInTheSameRunSeesTheOldValueUnlessItComesAfter) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::scalar(1.0f));
  const auto change =
      graph.op("change", {replace(w)}, [](float old, float& next) { next = old + 1; });
  const auto before = graph.op("before", {w}, [](float x) { return x; });
  const auto after =
      graph.op("after", {w}, [](float x) { return x; }, {.control_inputs = {change}});
  const auto session = graph.new_session("");
  const FetchValues values = session->run({change, before[0], after[0]});
  EXPECT_EQ(values[1].scalar<float>(), 1);
  EXPECT_EQ(values[2].scalar<float>(), 2);
}

// A held snapshot costs an update one copy, and a replacement none: only the operation
// itself writes bytes.
TEST(VariableChangesTest, ReplaceNeverCopies) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::from<float>(std::vector<float>(100, 5)));
  const auto nothing = graph.op("nothing", {replace(w)}, [](In, Out next) { next[0] = 1; });
  const auto session = graph.new_session("");
  session->run(nothing);
  const Tensor held = snapshot_of(*session, w);
  Tensor fresh(DType::kFloat, {100});
  session->run(nothing);  // Back in the first memory, if nothing is held.
  session->run(nothing);
  EXPECT_NE(address_of(snapshot_of(*session, w)), held.bytes().data());
  EXPECT_EQ(held.flat<float>()[0], 1);
}

// The memory of released values is reused, so a run that saves
// periodically touches no fresh memory.
template <typename Change>
void expect_memory_is_used_again(OpInput input, Graph& graph, const OwnedVariable& w, Change change,
                                 size_t most) {
  const auto op = graph.op("change", std::vector<OpInput>{input}, change);
  const auto session = graph.new_session("");
  std::set<const void*> places;
  std::deque<Tensor> held;
  for (int step = 0; step < 50; ++step) {
    session->run(op);
    EXPECT_EQ(element(snapshot_of(*session, w), 0), static_cast<float>(step + 1));
    places.insert(memory_of(*session, w));
    if (step % 3 == 0) held.push_back(snapshot_of(*session, w));
    if (held.size() > 1) {
      EXPECT_EQ(held.front().flat<float>()[99], static_cast<float>(step - 2));
      held.pop_front();
    }
  }
  EXPECT_LE(places.size(), most);
}

TEST(VariableChangesTest, UpdateReusesMemory) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::zeros<float>({100}));
  expect_memory_is_used_again(
      update(w), graph, w,
      [](Out x) {
        for (float& y : x) ++y;
      },
      2);
}

TEST(VariableChangesTest, ReplaceReusesMemory) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::zeros<float>({100}));
  expect_memory_is_used_again(
      replace(w), graph, w,
      [](In old, Out next) {
        for (size_t i = 0; i < old.size(); ++i) next[i] = old[i] + 1;
      },
      3);
}

TEST(VariableChangesTest, AllMemoryIsAlignedEvenAfterARestore) {
  Graph graph;
  const OwnedVariable w = graph.variable("w", Tensor::zeros<float>({100}));
  const auto change = graph.op("change", {replace(w)}, [](In, Out next) { next[0] = 1; });
  const auto session = graph.new_session("");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory_of(*session, w)) % kBufferAlignment, 0);
    i % 2 == 0 ? void(session->run(change)) : assign_zeros(*session, w);
  }
}

// Two variables that are equal between steps.
class FailingStepTest : public testing::Test {
 protected:
  void expect_no_snapshot(crochet::Session& session, const char* culprit) {
    EXPECT_THAT([&] { snapshot_of(session, a_); },
                ThrowsMessage<FailedPreconditionError>(HasSubstr(culprit)));
    for (const Variable& variable : graph_.variables()) assign_zeros(session, variable);
    EXPECT_EQ(snapshot_of(session, a_), Tensor::zeros<float>({100}));
  }
  auto update_then_fail() {
    return [this](Out x) {
      x[0] = 70;
      if (fails) fails();
    };
  }

  Graph graph_;
  const OwnedVariable a_ = graph_.variable("a", Tensor::zeros<float>({100}));
  const OwnedVariable b_ = graph_.variable("b", Tensor::zeros<float>({100}));
  std::function<void()> fails = [] { throw std::runtime_error("mine"); };
};

TEST_F(FailingStepTest, AllowsNoSnapshotAfterAnUpdateThatFailedMidway) {
  const auto op = graph_.op("half", {update(a_)}, update_then_fail());
  const auto session = graph_.new_session("");
  EXPECT_THROW(session->run(op), std::runtime_error);
  expect_no_snapshot(*session, "\"half\"");
}

TEST_F(FailingStepTest, AllowsASnapshotAfterAnUpdateWithWrongInputs) {
  const Output x = graph_.value("x", [] { return Tensor::zeros<float>({2}); });
  const auto op = graph_.op("op", {update(a_), x}, [](Out, float) { FAIL(); });
  const auto session = graph_.new_session("");
  EXPECT_THROW(session->run(op), InvalidArgumentError);
  EXPECT_EQ(snapshot_of(*session, a_), Tensor::zeros<float>({100}));
}

TEST_F(FailingStepTest, KeepsTheOldValueIfAReplacementFails) {
  const auto op = graph_.op("op", {replace(a_)}, [this](In, Out next) {
    next[0] = 70;
    fails();
  });
  const auto session = graph_.new_session("");
  EXPECT_THROW(session->run(op), std::runtime_error);
  EXPECT_EQ(snapshot_of(*session, a_), Tensor::zeros<float>({100}));
}

TEST_F(FailingStepTest, AllowsNoSnapshotIfTheSecondReplacementFails) {
  const auto first = graph_.op("first", {replace(a_)}, [](In, Out next) { next[0] = 1; });
  const auto second =
      graph_.op("second", {replace(b_)}, [this](In, Out) { fails(); }, {.control_inputs = {first}});
  const auto session = graph_.new_session("");
  EXPECT_THROW(session->run(second), std::runtime_error);
  expect_no_snapshot(*session, "\"second\"");
}

TEST_F(FailingStepTest, AllowsNoSnapshotIfAnOperationBetweenTwoChangesFails) {
  const auto first = graph_.op("first", {replace(a_)}, [](In, Out next) { next[0] = 1; });
  const auto between = graph_.op("between", [this] { fails(); }, {.control_inputs = {first}});
  const auto second =
      graph_.op("second", {replace(b_)}, [](In, Out) {}, {.control_inputs = {between}});
  const auto session = graph_.new_session("");
  EXPECT_THROW(session->run(second), std::runtime_error);
  expect_no_snapshot(*session, "\"between\"");
}

TEST_F(FailingStepTest, AllowsASnapshotIfTheFailureIsBeforeOrAfterAllChanges) {
  const auto before = graph_.op("before", [this] { fails(); });
  const auto change = graph_.op("change", {update(a_)}, [](Out x) { x[0] = 1; });
  const auto after = graph_.op("after", [this] { fails(); }, {.control_inputs = {change}});
  const auto session = graph_.new_session("");
  EXPECT_THROW(session->run({before, change}), std::runtime_error);
  EXPECT_EQ(element(snapshot_of(*session, a_), 0), 0);
  EXPECT_THROW(session->run(after), std::runtime_error);
  EXPECT_EQ(element(snapshot_of(*session, a_), 0), 1);
}

TEST_F(FailingStepTest, AllowsASnapshotIfTheInputEndedBeforeAnUpdateThatSaysSo) {
  const auto careful = graph_.op("careful", {update(a_)}, [this](Out) { fails(); },
                                 {.intact_at_end_of_input = true});
  const auto session = graph_.new_session("");
  fails = [] { throw OutOfRangeError("the data ended"); };
  EXPECT_THROW(session->run(careful), OutOfRangeError);
  EXPECT_EQ(snapshot_of(*session, a_), Tensor::zeros<float>({100}));
  fails = [] { throw std::runtime_error("mine"); };
  EXPECT_THROW(session->run(careful), std::runtime_error);
  expect_no_snapshot(*session, "\"careful\"");
}

TEST_F(FailingStepTest, AllowsNoSnapshotIfTheInputEndedWithinAnUpdate) {
  const auto op = graph_.op("half", {update(a_)}, update_then_fail());
  const auto session = graph_.new_session("");
  fails = [] { throw OutOfRangeError("the data ended"); };
  EXPECT_THROW(session->run(op), OutOfRangeError);
  expect_no_snapshot(*session, "\"half\"");
}

TEST_F(FailingStepTest, AllowsNoSnapshotIfTheInputEndedAfterAnotherChange) {
  const auto first = graph_.op("first", {replace(b_)}, [](In, Out) {});
  const auto careful = graph_.op("careful", {update(a_)}, [this](Out) { fails(); },
                                 {.control_inputs = {first}, .intact_at_end_of_input = true});
  const auto session = graph_.new_session("");
  fails = [] { throw StopIteration(); };
  EXPECT_THROW(session->run(careful), StopIteration);
  expect_no_snapshot(*session, "\"careful\"");
}

TEST_F(FailingStepTest, AllowsNoSnapshotIfADeadlineInterruptsTheStep) {
  const auto first = graph_.op("first", {replace(a_)}, [](In, Out) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (std::chrono::steady_clock::now() < end) {
    }
  });
  const auto second =
      graph_.op("second", {replace(b_)}, [](In, Out) {}, {.control_inputs = {first}});
  const auto session = graph_.new_session("");
  EXPECT_THROW(session->run(second, {}, {.timeout_in_ms = 1}), DeadlineExceededError);
  expect_no_snapshot(*session, "\"second\"");
}

}  // namespace
}  // namespace crochet::local
