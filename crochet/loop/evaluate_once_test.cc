// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's basic_train_loop and evaluate_once, as they are written with a MonitoredSession.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ThrowsMessage;

class TrainLoopTest : public testing::Test {
 protected:
  // Calls the function until a stop is requested.
  void loop(const std::function<void(StepContext&)>& function) {
    run_in_scope(session_, [&] {
      while (!session_.should_stop()) session_.run_step_fn(function);
    });
  }

  LogCapture log_;
  FakeClock clock_;
  ScriptedGraph graph_;
  MonitoredSession session_{std::make_unique<ChiefSessionCreator>(graph_), {}, {.clock = &clock_}};
  int num_calls_ = 0;
};

// BL-1: the function is called until a stop is requested.
TEST_F(TrainLoopTest, CallsTheFunctionUntilAStop) {
  loop([&](StepContext&) {
    if (++num_calls_ == 3) session_.request_stop("it is enough");
  });
  EXPECT_EQ(num_calls_, 3);
}

// BL-2: another error ends the loop.
TEST_F(TrainLoopTest, EndsWithTheFunctionsError) {
  const auto function = [&](StepContext&) {
    if (++num_calls_ == 3) throw FailedPreconditionError("failed");
  };
  EXPECT_THAT([&] { loop(function); }, ThrowsMessage<FailedPreconditionError>("failed"));
  EXPECT_EQ(num_calls_, 3);
}

// BL-3: after an AbortedError it continues in another session.
TEST_F(TrainLoopTest, ContinuesAfterAnAbort) {
  const auto function = [&](StepContext&) {
    if (++num_calls_ < 5) throw AbortedError("the worker is gone");
    throw FailedPreconditionError("failed again");
  };
  EXPECT_THAT([&] { loop(function); }, ThrowsMessage<FailedPreconditionError>("failed again"));
  EXPECT_EQ(num_calls_, 5);
  EXPECT_EQ(graph_.num_sessions(), 5);
}

// A model that knows the labels once it was trained, and what measures it.
struct Classifier {
  local::Graph graph;
  local::OwnedVariable weight = (graph.create_global_step(), graph.variable("w", one(0)));
  local::OwnedVariable hits = graph.variable("hits", one(0));
  int batches_left = 1000;
  Operation evaluate = graph.op("evaluate", {weight, update(hits)}, [this](float w, float& count) {
    if (batches_left-- == 0) throw OutOfRangeError("there are no more batches");
    count += w == 2 ? 1 : 0;
  });
  Output value = graph.op("value", {hits}, [](float count) { return count + 9; })[0];

  static Tensor one(float value) { return Tensor::scalar(value); }
};

class EvaluateOnceTest : public testing::Test {
 protected:
  EvaluateOnceTest() {
    Classifier trained;
    const auto session = trained.graph.new_session();
    session->assign_variable("w", Tensor::scalar(2.0f));
    saver_->save(*session, "run/model.ckpt", 300);
  }

  // The value of "value" after `num_evals` evaluations of the checkpoint, or of all batches.
  float evaluate(Classifier& model, std::optional<int> num_evals) {
    const auto value = std::make_shared<FinalOpsHook>(model.value);
    const auto scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver_});
    MonitoredSession session(
        std::make_unique<ChiefSessionCreator>(
            model.graph,
            ChiefSessionCreatorOptions{.scaffold = scaffold,
                                       .checkpoint_filename_with_path = "run/model.ckpt-300"}),
        {value});
    run_in_scope(session, [&] {
      for (int i = 0; !num_evals || i < *num_evals; ++i) session.run(model.evaluate);
    });
    return value->final_ops_values().scalar<float>();
  }

  LogCapture log_;
  MemoryFileSystem files_;
  std::shared_ptr<Saver> saver_ = std::make_shared<Saver>(SaverOptions{.files = &files_});
};

// EV-1: the checkpoint's model is evaluated.
TEST_F(EvaluateOnceTest, EvaluatesTheModelOfTheCheckpoint) {
  Classifier model;
  EXPECT_EQ(evaluate(model, 1), 1 + 9);
}

// EV-2: without a number, the end of the data ends it, and final operations are evaluated.
TEST_F(EvaluateOnceTest, EvaluatesAllBatches) {
  Classifier model;
  model.batches_left = 3;
  EXPECT_EQ(evaluate(model, {}), 3 + 9);
}

// EV-3: final operations see all evaluations.
TEST_F(EvaluateOnceTest, EvaluatesFinalOperationsOnceAtTheEnd) {
  Classifier model;
  EXPECT_EQ(evaluate(model, 5), 5 + 9);
}

// EV-5: final operations alone, on the restored model.
TEST_F(EvaluateOnceTest, EvaluatesOnlyFinalOperations) {
  Classifier model;
  EXPECT_EQ(evaluate(model, 0), 9);
}

}  // namespace
}  // namespace crochet
