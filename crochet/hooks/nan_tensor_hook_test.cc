// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/nan_tensor_hook.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class NanTensorHookTest : public testing::Test {
 protected:
  Output loss(std::vector<Tensor> values) { return graph_.value("loss", std::move(values)); }
  void train(NanTensorHook hook, int num_steps) {
    session_.emplace(std::make_unique<ChiefSessionCreator>(graph_), HookList{std::move(hook)});
    for (int i = 0; i < num_steps; ++i) session_->run(graph_.train());
  }

  LogCapture log_;
  ScriptedGraph graph_;
  std::optional<MonitoredSession> session_;
};

TEST_F(NanTensorHookTest, ThrowsOnceTheLossIsNan) {
  loss({Tensor::scalar(1.0f), Tensor::scalar(std::nanf(""))});
  EXPECT_THROW(train(NanTensorHook("loss"), 2), NanLossDuringTrainingError);
  EXPECT_TRUE(log_.contains("loss:0 is NaN at step 2"));
}

TEST_F(NanTensorHookTest, IsAFailedPreconditionInPythonsWords) {
  loss({Tensor::scalar(std::nan(""))});
  EXPECT_THAT([&] { train(NanTensorHook("loss"), 1); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("NaN loss during training")));
}

TEST_F(NanTensorHookTest, RejectsAnOperationWithoutAValue) {
  const std::string name = graph_.train().name();
  EXPECT_THAT([&] { train(NanTensorHook(name), 1); },
              ThrowsMessage<InvalidArgumentError>("NanTensorHook: \"" + name + "\" has no value"));
}

TEST_F(NanTensorHookTest, RequestsAStopIfNotToFail) {
  train(NanTensorHook(loss({Tensor::scalar(1.0f), Tensor::scalar(std::nanf(""))}),
                      {.fail_on_nan_loss = false}),
        2);
  EXPECT_TRUE(session_->should_stop());
  EXPECT_EQ(session_->stop_request()->who, "NanTensorHook");
  EXPECT_EQ(session_->stop_request()->reason, "loss:0 is NaN");
  EXPECT_TRUE(log_.contains("training stops"));
}

TEST_F(NanTensorHookTest, RejectsTheStepIfNotToFail) {
  loss({Tensor::scalar(1.0f), Tensor::scalar(std::nanf(""))});
  class Watcher final : public SessionRunHook {
   public:
    explicit Watcher(std::vector<bool>& rejected) : rejected_(rejected) {}
    void after_run(SessionRunContext& context, const SessionRunValues&) override {
      rejected_.push_back(context.step_rejected());
    }

   private:
    std::vector<bool>& rejected_;
  };
  std::vector<bool> rejected;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_),
                           {NanTensorHook("loss", {.fail_on_nan_loss = false}), Watcher(rejected)});
  for (int i = 0; i < 2; ++i) session.run(graph_.train());
  EXPECT_THAT(rejected, testing::ElementsAre(false, true));
}

TEST_F(NanTensorHookTest, IgnoresInfinityAndUnsetLosses) {
  loss({Tensor::scalar(std::numeric_limits<float>::infinity()), Tensor(), Tensor::scalar(1.0f)});
  train(NanTensorHook("loss"), 4);
  EXPECT_FALSE(session_->should_stop());
}

TEST_F(NanTensorHookTest, RejectsALossThatIsNotANumber) {
  loss({Tensor::zeros<float>({2})});
  EXPECT_THROW(train(NanTensorHook("loss"), 1), InvalidArgumentError);
}

TEST_F(NanTensorHookTest, RejectsWhatCannotBeALoss) {
  EXPECT_THROW(NanTensorHook({}), InvalidArgumentError);
  EXPECT_THROW(NanTensorHook(Fetches::List{"a", "b"}), InvalidArgumentError);
  NanTensorHook unknown("lost");
  EXPECT_THROW(unknown.begin(graph_), NotFoundError);
  NanTensorHook no_value(graph_.train());
  EXPECT_THAT([&] { no_value.begin(graph_); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("train")));
}

}  // namespace
}  // namespace crochet
