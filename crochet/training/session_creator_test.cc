// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/session_creator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

class ChiefSessionCreatorTest : public testing::Test {
 protected:
  ChiefSessionCreatorTest() {
    scaffold_->saver = std::make_shared<Saver>(SaverOptions{.files = &files_});
    scaffold_->init_fn = [this](Session&) { ++num_inits_; };
  }

  std::unique_ptr<Session> create(const std::string& checkpoint_dir) {
    return ChiefSessionCreator(graph_, {.scaffold = scaffold_, .checkpoint_dir = checkpoint_dir})
        .create_session()
        .session;
  }

  void save_step(const std::string& save_path, int64_t step) {
    ScriptedGraph graph({.global_step = step});
    Saver({.files = &files_}).save(*graph.new_session(""), save_path, step);
  }

  LogCapture log_;
  MemoryFileSystem files_;
  ScriptedGraph graph_;
  std::shared_ptr<Scaffold> scaffold_ = std::make_shared<Scaffold>();
  int num_inits_ = 0;
};

TEST_F(ChiefSessionCreatorTest, InitialisesWithoutADirectory) {
  const auto session = create("");
  EXPECT_EQ(read_global_step(*session), 0);
  EXPECT_EQ(num_inits_, 1);
  EXPECT_TRUE(graph_.finalized());
}

TEST_F(ChiefSessionCreatorTest, NeedsNoScaffold) {
  EXPECT_EQ(read_global_step(*ChiefSessionCreator(graph_).create_session().session), 0);
}

TEST_F(ChiefSessionCreatorTest, LogsThatItStartsAfresh) {
  create("d");
  EXPECT_EQ(num_inits_, 1);
  EXPECT_TRUE(log_.contains("d holds no checkpoint: starting afresh"));
}

// SM-4: restored, without the initialisation.
TEST_F(ChiefSessionCreatorTest, RestoresInsteadOfInitialising) {
  save_step("d/model.ckpt", 30);
  save_step("d/model.ckpt", 200);
  EXPECT_EQ(read_global_step(*create("d")), 200);
  EXPECT_EQ(num_inits_, 0);
  EXPECT_TRUE(log_.contains("restored d/model.ckpt-200"));
}

TEST_F(ChiefSessionCreatorTest, DoesNotStartAfreshNextToCheckpointsOfAnotherName) {
  save_step("d/other", 30);
  EXPECT_THROW(create("d"), FailedPreconditionError);
  EXPECT_EQ(num_inits_, 0);
}

TEST_F(ChiefSessionCreatorTest, ReportsWhatItRestored) {
  save_step("d/model.ckpt", 30);
  ChiefSessionCreator creator(graph_, {.scaffold = scaffold_, .checkpoint_dir = "d"});
  EXPECT_THAT(creator.create_session().restored, RestoredFrom("d/model.ckpt-30"));
  ChiefSessionCreator afresh(graph_, {.scaffold = scaffold_, .checkpoint_dir = "e"});
  EXPECT_EQ(afresh.create_session().restored, std::nullopt);
}

// Its function restores the session, or finds nothing; then the session is initialised.
TEST_F(ChiefSessionCreatorTest, RestoresByAFunction) {
  save_step("d/model.ckpt", 30);
  std::optional<std::string> chosen = "d/model.ckpt-30";
  ChiefSessionCreator creator(
      graph_, {.scaffold = scaffold_,
               .restore = [&](Session& session,
                              const std::function<void()>&) -> std::optional<RestoreReport> {
                 if (!chosen) return std::nullopt;
                 return scaffold_->saver->restore(session, *chosen);
               }});
  EXPECT_THAT(creator.create_session().restored, RestoredFrom("d/model.ckpt-30"));
  EXPECT_EQ(num_inits_, 0);
  chosen.reset();
  EXPECT_EQ(creator.create_session().restored, std::nullopt);
  EXPECT_EQ(num_inits_, 1);
}

TEST_F(ChiefSessionCreatorTest, RestoresTheGivenFile) {
  save_step("d/model.ckpt", 30);
  save_step("d/model.ckpt", 200);
  ChiefSessionCreator creator(
      graph_, {.scaffold = scaffold_, .checkpoint_filename_with_path = "d/model.ckpt-30"});
  EXPECT_EQ(read_global_step(*creator.create_session().session), 30);
  EXPECT_EQ(num_inits_, 0);
}

TEST_F(ChiefSessionCreatorTest, RejectsADirectoryAndAFile) {
  EXPECT_THROW(
      ChiefSessionCreator(graph_, {.checkpoint_dir = "d", .checkpoint_filename_with_path = "d/x"}),
      InvalidArgumentError);
}

TEST_F(ChiefSessionCreatorTest, PassesOnTargetAndSettings) {
  ChiefSessionCreator creator(graph_, {.master = "there", .config = {"settings"}});
  EXPECT_EQ(creator.create_session().session->target(), "there");
  EXPECT_EQ(graph_.last_config().serialized, "settings");
}

// An engine whose variables have no values is initialised by the scaffold's operations.
TEST(ChiefSessionCreatorInitTest, InitialisesAnEngineThatNeedsIt) {
  ScriptedGraph graph({.global_step = 5, .starts_initialized = false});
  graph.local_variable("local", Tensor::scalar(1.0f));
  EXPECT_EQ(read_global_step(*ChiefSessionCreator(graph).create_session().session), 5);
  EXPECT_EQ(graph.runs()[0].fetches, (std::vector<std::string>{"init"}));
}

class WorkerSessionCreatorTest : public testing::Test {
 protected:
  LogCapture log_;
  FakeClock clock_;
};

TEST_F(WorkerSessionCreatorTest, WaitsForTheChiefAndInitialisesOnlyLocalVariables) {
  ScriptedGraph graph({.starts_initialized = false});
  graph.local_variable("local", Tensor::scalar(1.0f));
  int num_questions = 0;
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->init_fn = [](Session&) { ADD_FAILURE() << "called"; };
  scaffold->ready_for_local_init_op = graph.value("ready", [&] {
    return Tensor::from(std::vector<std::string>(++num_questions < 3 ? 1 : 0, "global_step"));
  });
  scaffold->ready_op = "ready";
  WorkerSessionCreator creator(
      graph, {.scaffold = scaffold, .master = "there", .config = {"settings"}, .clock = &clock_});
  const auto session = creator.create_session().session;
  EXPECT_EQ(session->target(), "there");
  EXPECT_EQ(graph.last_config().serialized, "settings");
  EXPECT_EQ(graph.num_sessions(), 3);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 60);
  EXPECT_TRUE(graph.finalized());
  std::vector<std::string> fetches;
  for (const ScriptedRun& run : graph.runs()) fetches.push_back(run.fetches.at(0));
  EXPECT_THAT(fetches,
              testing::ElementsAre("ready:0", "ready:0", "ready:0", "local_init", "ready:0"));
}

TEST_F(WorkerSessionCreatorTest, TimesOutAfterHalfAnHour) {
  ScriptedGraph graph({.starts_initialized = false});
  WorkerSessionCreator creator(graph, {.clock = &clock_});
  EXPECT_THROW(creator.create_session(), DeadlineExceededError);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 1800);
}

TEST_F(WorkerSessionCreatorTest, ChecksEveryRecoveryWaitSecs) {
  ScriptedGraph graph({.starts_initialized = false});
  WorkerSessionCreator creator(graph,
                               {.max_wait_secs = 10, .recovery_wait_secs = 2.5, .clock = &clock_});
  EXPECT_THROW(creator.create_session(), DeadlineExceededError);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 10);
  EXPECT_EQ(graph.num_sessions(), 5);
}

TEST_F(WorkerSessionCreatorTest, RejectsANegativeWait) {
  ScriptedGraph graph;
  EXPECT_THROW(WorkerSessionCreator(graph, {.recovery_wait_secs = 0}), InvalidArgumentError);
  EXPECT_THROW(WorkerSessionCreator(graph, {.max_wait_secs = -1}), InvalidArgumentError);
}

TEST_F(ChiefSessionCreatorTest, ClosesTheSessionIfItCannotBeInitialised) {
  scaffold_->init_fn = [](Session&) { throw DataLossError("gone"); };
  EXPECT_THROW(create(""), DataLossError);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

}  // namespace
}  // namespace crochet
