// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/session_creator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/memory_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"

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
        .create_session();
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

// SM-3: init_fn alone suffices.
TEST_F(ChiefSessionCreatorTest, InitialisesWithoutADirectory) {
  const auto session = create("");
  EXPECT_EQ(read_global_step(*session), 0);
  EXPECT_EQ(num_inits_, 1);
  EXPECT_TRUE(graph_.finalized());
}

TEST_F(ChiefSessionCreatorTest, NeedsNoScaffold) {
  EXPECT_EQ(read_global_step(*ChiefSessionCreator(graph_).create_session()), 0);
}

TEST_F(ChiefSessionCreatorTest, SaysSoIfItStartsAfresh) {
  create("d");
  EXPECT_EQ(num_inits_, 1);
  EXPECT_TRUE(log_.contains("d holds no checkpoint: a fresh start"));
}

// SM-4: restored, without the initialisation.
TEST_F(ChiefSessionCreatorTest, RestoresInsteadOfInitialising) {
  save_step("d/model.ckpt", 30);
  save_step("d/model.ckpt", 200);
  EXPECT_EQ(read_global_step(*create("d")), 200);
  EXPECT_EQ(num_inits_, 0);
  EXPECT_TRUE(log_.contains("restored d/model.ckpt-200"));
}

TEST_F(ChiefSessionCreatorTest, DoesNotStartAfreshBesideCheckpointsOfAnotherName) {
  save_step("d/other", 30);
  EXPECT_THROW(create("d"), FailedPreconditionError);
  EXPECT_EQ(num_inits_, 0);
}

TEST_F(ChiefSessionCreatorTest, ClosesTheSessionIfItCannotBeInitialised) {
  scaffold_->init_fn = [](Session&) { throw DataLossError("gone"); };
  EXPECT_THROW(create(""), DataLossError);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

}  // namespace
}  // namespace crochet
