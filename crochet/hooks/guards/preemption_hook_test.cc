// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/preemption_hook.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <queue>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/standing_clock.h"
#include "crochet/testing/watched_file_system.h"
#include "crochet/training/monitored_session.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Has the notices, and errors, that a test gives it.
class Notices final : public PreemptionSource {
 public:
  std::optional<PreemptionNotice> wait(const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    ++num_calls_;
    if (!changed_.wait(lock, stop, [this] { return !answers_.empty(); })) return std::nullopt;
    const std::function<PreemptionNotice()> answer = std::move(answers_.front());
    answers_.pop();
    return answer();
  }
  void give(std::function<PreemptionNotice()> answer) {
    const std::lock_guard lock(mutex_);
    answers_.push(std::move(answer));
    changed_.notify_all();
  }
  int num_calls() {
    const std::lock_guard lock(mutex_);
    return num_calls_;
  }

 private:
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable_any changed_;
  std::queue<std::function<PreemptionNotice()>> answers_;
  int num_calls_ = 0;
};

// Calls a function while a run is made.
class DuringRuns final : public SessionRunHook {
 public:
  explicit DuringRuns(std::function<void()> call) : call_(std::move(call)) {}
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    call_();
    return {};
  }

 private:
  std::function<void()> call_;
};

class PreemptionHookTest : public testing::Test {
 protected:
  // Returns once the hook knows of it.
  void give(const PreemptionNotice& notice) {
    log_.clear();
    source_->give([=] { return notice; });
    wait_until("the notice", [&] { return log_.contains(notice.text); });
  }

  // Trains until a hook stops it; each run takes this time, and each save.
  void train(double run_secs, double save_secs, const std::function<void()>& during_run) {
    files_.on_create([&, save_secs](const std::string& path) {
      if (path.find(".data-") != std::string::npos) clock_.advance(from_seconds(save_secs));
    });
    const auto saver =
        std::make_shared<Saver>(SaverOptions{.max_to_keep = 0, .files = &files_, .clock = &clock_});
    ScriptedGraph graph;
    graph.variable("w", Tensor::scalar(1.0F));
    HookList hooks = {DuringRuns([&, run_secs] {
                        clock_.advance(from_seconds(run_secs));
                        during_run();
                      }),
                      PreemptionHook(source_, &clock_), StopAtStepHook({.last_step = 2000}),
                      CheckpointSaverHook({.checkpoint_dir = directory_,
                                           .save_steps = 1'000'000,
                                           .saver = saver,
                                           .clock = &clock_})};
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), std::move(hooks),
                             {.clock = &clock_});
    while (!session.should_stop()) session.run(graph.train());
    stop_ = *session.stop_request();
    last_step_ = *session.current_step();
    session.close();
  }

  LogCapture log_;
  FakeClock clock_;
  WatchedFileSystem files_;
  std::shared_ptr<Notices> source_ = std::make_shared<Notices>();
  std::string directory_ = "d";
  StopRequest stop_;
  int64_t last_step_ = 0;
};

TEST_F(PreemptionHookTest, SavesAtTheNoticeAndStopsInTime) {
  const double ends_at = clock_.wall_time() + 150;
  int step = 0;
  train(1, 2, [&] {
    if (++step == 20) give({"the machine is needed elsewhere", ends_at});
  });
  EXPECT_EQ(stop_.who, "PreemptionHook");
  EXPECT_EQ(stop_.signal, SIGTERM);
  EXPECT_EQ(stop_.reason,
            "the machine is needed elsewhere, which ends at 2001-09-09 01:49:10 UTC: a save takes "
            "up to 2.0 s, and a step may take 1.1 s");
  EXPECT_THAT(
      list_checkpoints(files_, "d", "model.ckpt"),
      ElementsAre("d/model.ckpt-0", "d/model.ckpt-20", fmt::format("d/model.ckpt-{}", last_step_)));
  EXPECT_LE(clock_.wall_time(), ends_at);
  EXPECT_GE(clock_.wall_time(), ends_at - 5);
}

TEST_F(PreemptionHookTest, AdviceOnlySaves) {
  int step = 0;
  train(1, 0, [&] {
    if (++step == 20) give({"it may end", {}});
  });
  EXPECT_EQ(stop_.who, "StopAtStepHook");
  EXPECT_THAT(list_checkpoints(files_, "d", "model.ckpt"),
              ElementsAre("d/model.ckpt-0", "d/model.ckpt-20", "d/model.ckpt-2000"));
}

TEST_F(PreemptionHookTest, TheEndFollowsAnAdvice) {
  int step = 0;
  train(1, 0, [&] {
    if (++step == 20) give({"it may end", {}});
    if (step == 30) give({"it ends", clock_.wall_time() + 10});
  });
  EXPECT_THAT(stop_.reason, HasSubstr("it ends"));
  EXPECT_LE(last_step_, 40);
}

TEST_F(PreemptionHookTest, StopsAtOnceIfTheTimeIsOverOrNone) {
  for (const double ends_at :
       {0.0, -1e300, std::numeric_limits<double>::quiet_NaN(), clock_.wall_time()}) {
    source_ = std::make_shared<Notices>();
    directory_ = fmt::format("d{}", ends_at);
    int step = 0;
    train(1, 1, [&] {
      if (++step == 5) give({"it ends", ends_at});
    });
    EXPECT_EQ(last_step_, 5) << ends_at;
    EXPECT_TRUE(checkpoint_exists(files_, directory_ + "/model.ckpt-5"));
  }
}

// Of steps and saves of any length, notices at any moment, and machines that end soon or late.
TEST_F(PreemptionHookTest, LosesNoStepThatCouldHaveBeenSavedInTime) {
  std::mt19937_64 random(41);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  int num_saved = 0;
  for (int i = 0; i < 1000; ++i) {
    const double run_secs = uniform(0.1, 10);
    const double save_secs = uniform(0.1, 20);
    const double notice_at = clock_.wall_time() + save_secs + uniform(0, 200);
    const double ends_at = notice_at + uniform(2, 130);
    double first_boundary = 0;
    source_ = std::make_shared<Notices>();
    directory_ = fmt::format("d{}", i);
    train(run_secs, save_secs, [&] {
      if (first_boundary != 0 || clock_.wall_time() < notice_at) return;
      first_boundary = clock_.wall_time();
      give({"it ends", ends_at});
    });
    EXPECT_TRUE(checkpoint_exists(files_, fmt::format("d{}/model.ckpt-{}", i, last_step_)));
    const bool is_saved_in_time = clock_.wall_time() <= ends_at;
    num_saved += is_saved_in_time ? 1 : 0;
    // The step that was being made.
    const double spare_secs = ends_at - first_boundary - save_secs;
    if (spare_secs >= 0 && spare_secs < 1) continue;  // The end of the program takes time, too.
    EXPECT_EQ(is_saved_in_time, spare_secs > 0)
        << fmt::format("{}: steps of {} s, saves of {} s, notice {} s before the end", i, run_secs,
                       save_secs, ends_at - notice_at);
  }
  EXPECT_GT(num_saved, 800);
  EXPECT_LT(num_saved, 1000);
}

TEST_F(PreemptionHookTest, ErrorsOfTheSourceAreLoggedOnceAndDoNotEndTheRun) {
  StandingClock clock;
  ScriptedGraph graph;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {PreemptionHook(source_, &clock)});
  for (int i = 0; i < 3; ++i) {
    source_->give([]() -> PreemptionNotice { throw UnavailableError("no answer"); });
    clock.wait_for_sleepers();
    clock.advance(std::chrono::seconds(1 << i));  // The pauses double.
    wait_until("the next call", [&] { return source_->num_calls() == i + 2; });
  }
  session.run(graph.train());
  EXPECT_THAT(log_.lines(Severity::kWarning),
              ElementsAre("a notice of preemption would not arrive: no answer"));
  source_->give([] { return PreemptionNotice{"it may end", {}}; });
  wait_until("the notice", [&] { return log_.contains("it may end"); });
  EXPECT_TRUE(log_.contains("notices of preemption can be asked for again"));
  session.close();  // Not while the source waits, either.
}

TEST_F(PreemptionHookTest, NeedsASource) {
  EXPECT_THROW(PreemptionHook(nullptr), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
