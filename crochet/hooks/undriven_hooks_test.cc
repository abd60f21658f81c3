// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Hooks driven by hand, without begin or after_create_session: each throws an error that names it,
// or works without.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/feed_fn_hook.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/global_step_waiter_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/profiler_hook.h"
#include "crochet/hooks/progress_bar_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/step_counter_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/hooks/summary_saver_hook.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/internal/hooked_session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class UndrivenHooksTest : public testing::Test {
 protected:
  UndrivenHooksTest() { graph_.value("loss", {Tensor::scalar(1.0f)}); }

  std::vector<HookHandle> all() {
    return {StopAtStepHook({.num_steps = 2}),
            StopAtStepHook({.last_step = 2}),
            StopAfterHook({.secs = 1e9}),
            StepCounterHook({.every_n_steps = 1}),
            SummarySaverHook({.save_steps = 1, .output_dir = "run", .summary_op = "loss"}),
            ProfilerHook({.save_steps = 1, .output_dir = "run", .files = &files_}),
            LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 1}),
            NanTensorHook("loss"),
            ProgressBarHook({.values = {"loss"}}),
            FeedFnHook([] { return Feeds(); }),
            FinalOpsHook("loss"),
            GlobalStepWaiterHook(1),
            EvaluationHook({.every_n_steps = 1, .evaluate = [] { return Metrics(); }}),
            every({.steps = 1}, "loss", [](int64_t, float) {}),
            stop_if_higher_hook("loss", 7, {.run_every_steps = 1}),
            stop_if_no_decrease_hook("loss", 7, {.run_every_steps = 1}),
            SignalHook({SIGUSR1})};
  }

  // The error of three runs of a session that never called begin, or never called
  // after_create_session; "" if there was none.
  std::string error_of(const HookHandle& hook, bool begins) {
    const HookList hooks = {hook};
    const std::unique_ptr<Session> engine = graph_.new_session("");
    StopState stop;
    internal::HookedSession session(*engine, hooks, stop);
    try {
      if (begins) hook->begin(graph_);
      for (int i = 0; i < 3 && !session.should_stop(); ++i) session.run(graph_.train());
    } catch (const FailedPreconditionError& error) {
      return error.what();
    }
    return "";
  }

  ScriptedGraph graph_{{.global_step = 1}};
  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(UndrivenHooksTest, EachNamesItselfInTheErrorOrWorksWithout) {
  for (const bool begins : {false, true})
    for (const HookHandle& hook : all())
      EXPECT_THAT(error_of(hook, begins),
                  testing::AnyOf("", StartsWith(hook->name() + ": before_run was called before")));
}

TEST_F(UndrivenHooksTest, NamesItselfInTheErrorIfItCannotWorkWithout) {
  const HookHandle summaries =
      SummarySaverHook({.save_steps = 1, .output_dir = "run", .summary_op = "loss"});
  EXPECT_THAT(error_of(summaries, true), HasSubstr("SummarySaverHook: before_run was called"));
  EXPECT_THAT(error_of(StopAtStepHook({.num_steps = 2}), true), HasSubstr("StopAtStepHook"));
  EXPECT_THAT(error_of(ProgressBarHook(), true), HasSubstr("ProgressBarHook"));
  EXPECT_THAT(error_of(LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 1}), false),
              HasSubstr("LoggingTensorHook"));
}

}  // namespace
}  // namespace crochet
