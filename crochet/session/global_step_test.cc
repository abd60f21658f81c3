// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/session/graph.h"
#include "crochet/session/session.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"

namespace crochet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Without a global step of its own.
class GlobalStepTest : public ::testing::Test {
 protected:
  LogCapture log_;
  ScriptedGraph graph_{{.counts_steps = false}};
};

// TU-1: the step must be an integer.
TEST_F(GlobalStepTest, RejectsAStepThatIsNotAnInteger) {
  graph_.value("global_step", {Tensor::scalar(1.0f)});
  EXPECT_THAT([&] { find_global_step(graph_); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("does not have integer type"), HasSubstr("float32"))));
  EXPECT_THROW(create_global_step(graph_), InvalidArgumentError);
}

// TU-2: the step must be a scalar.
TEST_F(GlobalStepTest, RejectsAStepThatIsNotAScalar) {
  graph_.value("global_step", {Tensor::from<int32_t>({1, 2})});
  EXPECT_THAT([&] { find_global_step(graph_); }, ThrowsMessage<InvalidArgumentError>(AllOf(
                                                     HasSubstr("not scalar"), HasSubstr("[2]"))));
}

TEST_F(GlobalStepTest, AcceptsAnUnknownTypeAndShape) {
  const Output step = graph_.value("global_step", [] { return Tensor::scalar<int64_t>(0); });
  EXPECT_EQ(find_global_step(graph_), step);
}

// TU-3: an int64 scalar is created, and only once.
TEST_F(GlobalStepTest, IsCreatedOnce) {
  const Output step = create_global_step(graph_);
  EXPECT_EQ(find_global_step(graph_), step);
  EXPECT_EQ(graph_.new_session("")->run(step).tensor(), Tensor::scalar<int64_t>(0));
  EXPECT_THAT([&] { create_global_step(graph_); },
              ThrowsMessage<AlreadyExistsError>(HasSubstr("already exists")));
}

// TU-4: it is found by its name without a collection, and may be an int32.
TEST_F(GlobalStepTest, IsFoundByName) {
  const Output step = graph_.value("global_step", {Tensor::scalar<int32_t>(3)});
  EXPECT_TRUE(graph_.collection(kGlobalStepCollection).empty());
  EXPECT_EQ(find_global_step(graph_), step);
  EXPECT_EQ(graph_.global_step(), step);
  EXPECT_EQ(read_global_step(*graph_.new_session("")), 3);
}

TEST_F(GlobalStepTest, IsFoundInTheCollectionFirst) {
  graph_.value("global_step", {Tensor::scalar<int64_t>(3)});
  const Output step = graph_.value("counter", {Tensor::scalar<int64_t>(4)});
  graph_.add_to_collection(kGlobalStepCollection, step);
  EXPECT_EQ(find_global_step(graph_), step);
}

TEST_F(GlobalStepTest, IsAbsentIfTheCollectionHasSeveral) {
  for (const char* name : {"a", "b"})
    graph_.add_to_collection(kGlobalStepCollection,
                             graph_.value(name, {Tensor::scalar<int64_t>(0)}));
  EXPECT_FALSE(find_global_step(graph_));
  EXPECT_TRUE(log_.contains("the graph has 2 global steps, including a:0 and b:0"));
}

TEST_F(GlobalStepTest, IsNotAnOperationWithoutAValue) {
  graph_.initializer("global_step", {});
  EXPECT_FALSE(find_global_step(graph_));
}

// TU-5: created if it is missing, the same one afterwards.
TEST_F(GlobalStepTest, IsCreatedOnlyIfMissing) {
  const Output step = get_or_create_global_step(graph_);
  EXPECT_TRUE(step);
  EXPECT_EQ(get_or_create_global_step(graph_), step);
  EXPECT_EQ(graph_.variables().size(), 1);
}

// TU-6: without a step there is nothing to read; afterwards there is.
// TU-7: a graph has one output to read it by.
TEST_F(GlobalStepTest, IsReadByOneOutput) {
  EXPECT_FALSE(graph_.global_step());
  get_or_create_global_step(graph_);
  const Output read = graph_.global_step();
  EXPECT_TRUE(read);
  EXPECT_EQ(graph_.global_step(), read);
}

// TU-8: read in the run that moves it, it is the value before.
TEST_F(GlobalStepTest, IsReadBeforeItIsIncremented) {
  const Output step = create_global_step(graph_);
  const Operation one = increment_global_step(graph_);
  const Operation three = increment_global_step(graph_, 3);
  const auto session = graph_.new_session("");
  EXPECT_EQ(session->run({Output(one), step})[1].scalar<int64_t>(), 0);
  EXPECT_EQ(session->run({Output(three), step})[1].scalar<int64_t>(), 1);
  EXPECT_EQ(session->run(step).scalar<int64_t>(), 4);
}

TEST_F(GlobalStepTest, IsIncrementedAfterItsControlInputs) {
  create_global_step(graph_);
  int num_computed = 0;
  const Output before = graph_.value("before", [&] { return Tensor::scalar(++num_computed); });
  const Operation one = increment_global_step(graph_, 1, {before});
  const Operation two = increment_global_step(graph_, 2, {one, before});
  const auto session = graph_.new_session("");
  session->run({two, one, Operation(before.operation())});
  EXPECT_EQ(read_global_step(*session), 3);
  EXPECT_EQ(num_computed, 1);
}

TEST_F(GlobalStepTest, CannotBeIncrementedIfMissing) {
  EXPECT_THROW(increment_global_step(graph_), FailedPreconditionError);
}

TEST_F(GlobalStepTest, CannotBeAddedToAFinalizedGraph) {
  graph_.finalize();
  EXPECT_THROW(create_global_step(graph_), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
