// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/final_ops_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

class FinalOpsHookTest : public testing::Test {
 protected:
  ~FinalOpsHookTest() override { set_pending_signal(0); }

  void train_and_close(const std::shared_ptr<FinalOpsHook>& hook) {
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_), {hook});
    session.run(graph_.train());
    EXPECT_FALSE(hook->final_ops_values());
    session.close();
  }

  LogCapture log_;
  ScriptedGraph graph_;
  int num_evaluations_ = 0;
  const Output accuracy_ = graph_.value("accuracy", [this] {
    ++num_evaluations_;
    return Tensor::scalar(0.75f);
  });
};

// BH-56: a scalar is kept after the end.
TEST_F(FinalOpsHookTest, KeepsTheFinalValue) {
  const auto hook = std::make_shared<FinalOpsHook>("accuracy");
  train_and_close(hook);
  EXPECT_EQ(hook->final_ops_values().scalar<float>(), 0.75f);
  EXPECT_EQ(num_evaluations_, 1);
}

// BH-57: so is a vector, in any structure.
TEST_F(FinalOpsHookTest, KeepsTheStructure) {
  graph_.value("confusion", {Tensor::from<float>({1, 2})});
  const auto hook = std::make_shared<FinalOpsHook>(
      Fetches::Map{{"a", accuracy_}, {"list", Fetches::List{"confusion", "global_step"}}});
  train_and_close(hook);
  EXPECT_EQ(hook->final_ops_values()["a"].scalar<float>(), 0.75f);
  EXPECT_EQ(hook->final_ops_values()["list"][0].tensor(), Tensor::from<float>({1, 2}));
  EXPECT_EQ(hook->final_ops_values()["list"][1].scalar<int64_t>(), 1);
}

TEST_F(FinalOpsHookTest, FeedsTheGivenValues) {
  const auto hook =
      std::make_shared<FinalOpsHook>(accuracy_, Feeds{{accuracy_, Tensor::scalar(0.5f)}});
  train_and_close(hook);
  EXPECT_EQ(hook->final_ops_values().scalar<float>(), 0.5f);
}

// BH-58: the end of the input is explained and thrown again.
TEST_F(FinalOpsHookTest, ExplainsTheEndOfTheInput) {
  graph_.value("batch", []() -> Tensor { throw OutOfRangeError("no more batches"); });
  const auto hook = std::make_shared<FinalOpsHook>("batch");
  EXPECT_THROW(train_and_close(hook), OutOfRangeError);
  EXPECT_TRUE(log_.contains("dependency back to some input source"));
  EXPECT_FALSE(hook->final_ops_values());
}

TEST_F(FinalOpsHookTest, DoesNotExplainOtherErrors) {
  graph_.value("broken", []() -> Tensor { throw DataLossError("gone"); });
  EXPECT_THROW(train_and_close(std::make_shared<FinalOpsHook>("broken")), DataLossError);
  EXPECT_FALSE(log_.contains("input source"));
}

TEST_F(FinalOpsHookTest, EvaluatesNothingAfterASignal) {
  const auto hook = std::make_shared<FinalOpsHook>("accuracy");
  set_pending_signal(15);
  train_and_close(hook);
  EXPECT_FALSE(hook->final_ops_values());
  EXPECT_EQ(num_evaluations_, 0);
  EXPECT_TRUE(log_.contains("SIGTERM"));
}

TEST_F(FinalOpsHookTest, AcceptsNoOps) {
  const auto hook = std::make_shared<FinalOpsHook>(Fetches());
  train_and_close(hook);
  EXPECT_FALSE(hook->final_ops_values());
}

TEST_F(FinalOpsHookTest, LooksItsNamesUpBeforeTraining) {
  FinalOpsHook hook("lost");
  EXPECT_THROW(hook.begin(graph_), NotFoundError);
}

}  // namespace
}  // namespace crochet
