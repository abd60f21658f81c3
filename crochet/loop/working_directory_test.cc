// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A program may change its working directory at any time: each public object that keeps a path
// keeps the directory to which it led when the object was made.
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

namespace fs = std::filesystem;

// Starts in `home`; leave() changes to `other`.
class WorkingDirectoryTest : public testing::Test {
 protected:
  WorkingDirectoryTest() {
    fs::create_directories(home_);
    fs::create_directories(other_);
    fs::current_path(home_);
  }
  ~WorkingDirectoryTest() override {
    EXPECT_TRUE(fs::is_empty(other_)) << fs::directory_iterator(other_)->path();
    fs::current_path(before_);
  }

  void leave() { fs::current_path(other_); }

  bool has(const std::string& name) const { return fs::exists(home_ / name); }

  int64_t num_lines(const std::string& name) const {
    std::ifstream in(home_ / name);
    int64_t lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    return lines;
  }

  const TempDirectory directory_;
  const fs::path before_ = fs::current_path();
  const fs::path home_ = fs::path(directory_.path()) / "home";
  const fs::path other_ = fs::path(directory_.path()) / "other";
};

TEST_F(WorkingDirectoryTest, ALoopStaysInItsDirectories) {
  std::vector<double> w(10);
  Loop loop({.checkpoint = {.dir = "runs/x", .every_steps = 10},
             .summaries = {.dir = "curves/x", .every_steps = 2},
             .hooks = {StopAtStepHook({.last_step = 60})}});
  loop.track("w", w);
  loop.scalar("loss", [&] { return w[0]; });
  bool has_failed = false;
  leave();
  const RunReport report = loop.run([&](Step& step) {
    for (double& each : w) each += 1;
    if (step.number() == 35 && !std::exchange(has_failed, true))
      throw UnavailableError("a server went away");
  });
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_EQ(w[0], 60);
  EXPECT_EQ(loop.save(), (home_ / "runs/x/model.ckpt-60").string());
  EXPECT_TRUE(has("runs/x/model.ckpt-60.index"));
  EXPECT_GE(num_lines("curves/x/metrics.jsonl"), 30);
}

TEST_F(WorkingDirectoryTest, ALoopRestoresFromTheDirectoryInItsOptions) {
  double w = 5;
  {
    Loop loop({.checkpoint = {.dir = "pretrained"}, .hooks = {StopAtStepHook({.last_step = 3})}});
    loop.track("w", w);
    loop.run([&] { w += 1; });
  }
  double other = 0;
  Loop loop({.restore = {.from = "pretrained"}, .hooks = {StopAtStepHook({.num_steps = 1})}});
  loop.track("w", other);
  leave();
  loop.run([] {});
  EXPECT_EQ(other, 8);
}

TEST_F(WorkingDirectoryTest, AFallbackDirectoryStays) {
  double w = 0;
  Loop loop(
      {.checkpoint = {.dir = "runs/x", .every_steps = 1, .saver = {.fallback_dir = "spare/x"}},
       .hooks = {StopAtStepHook({.last_step = 2})}});
  loop.track("w", w);
  leave();
  loop.run([&] { w += 1; });
  EXPECT_TRUE(has("spare/x/.lock"));
}

// A session with one variable, and things to do with it.
class WorkingDirectorySaverTest : public WorkingDirectoryTest {
 protected:
  WorkingDirectorySaverTest() {
    graph_.variable("w", Tensor::from<float>({1, 2, 3}));
    session_ = graph_.new_session("");
  }

  ScriptedGraph graph_;
  std::unique_ptr<Session> session_;
};

TEST_F(WorkingDirectorySaverTest, ASaveInTheBackgroundIsWrittenWhereItWasAskedFor) {
  Saver saver;
  const SaveTicket ticket = saver.save_async(*session_, "run/m", 5);
  leave();
  ticket.wait();
  EXPECT_TRUE(has("run/m-5.index"));
}

TEST_F(WorkingDirectorySaverTest, AManagerStaysInItsDirectory) {
  CheckpointManager manager({.directory = "run"});
  leave();
  manager.save(*session_);
  EXPECT_TRUE(has("run/ckpt-1.index"));
  EXPECT_EQ(manager.latest_checkpoint(), (home_ / "run/ckpt-1").string());
}

TEST_F(WorkingDirectorySaverTest, AReaderReadsTheDataThatItFound) {
  Saver().save(*session_, "m", 1);
  const CheckpointReader reader("m-1");
  leave();
  EXPECT_EQ(reader.read("w"), Tensor::from<float>({1, 2, 3}));
}

TEST_F(WorkingDirectorySaverTest, AWriterFinishesWhereItBegan) {
  const auto writer =
      new_checkpoint_writer(CheckpointFormat::kTensorBundle, FileSystem::posix(), "run/m-1");
  leave();
  writer->add("w", Tensor::from<float>({1, 2, 3}));
  writer->finish();
  EXPECT_TRUE(has("run/m-1.index"));
}

TEST_F(WorkingDirectorySaverTest, AnIteratorFollowsItsDirectory) {
  Saver().save(*session_, "run/model.ckpt", 1);
  CheckpointsIterator iterator("run", {.timeout_secs = 0});
  leave();
  EXPECT_EQ(iterator.next(), (home_ / "run/model.ckpt-1").string());
}

TEST_F(WorkingDirectorySaverTest, ASummaryWriterWritesWhereItWasMade) {
  const auto writer = SummaryWriter::for_directory("curves");
  SummaryWriter own("own");
  leave();
  writer->add_scalar("loss", 0.5, 1);
  own.add_scalar("loss", 0.5, 1);
  writer->flush();
  own.flush();
  EXPECT_EQ(num_lines("curves/metrics.jsonl"), 1);
  EXPECT_EQ(num_lines("own/metrics.jsonl"), 1);
}

TEST_F(WorkingDirectorySaverTest, ALockStaysOnItsDirectory) {
  const internal::DirectoryLock lock(FileSystem::posix(), "run");
  leave();
  EXPECT_NO_THROW(lock.check());
  EXPECT_TRUE(internal::DirectoryLock::held_here(FileSystem::posix(), (home_ / "run").string())
                  .has_value());
}

TEST_F(WorkingDirectorySaverTest, AMetricIsReadWhereItWas) {
  const MetricSource source = metric_in_directory("eval", "accuracy");
  SummaryWriter writer((home_ / "eval").string());
  writer.add_scalar("accuracy", 0.75, 4);
  writer.flush();
  leave();
  EXPECT_NO_THROW(source.newest());
}

TEST_F(WorkingDirectorySaverTest, AnEvaluatorFollowsTheRunThatItWasGiven) {
  double w = 0;
  {
    Loop loop({.checkpoint = {.dir = "run"}, .hooks = {StopAtStepHook({.last_step = 3})}});
    loop.track("w", w);
    loop.run([&] { w += 1; });
  }
  double seen = 0;
  Evaluator evaluator(
      {.checkpoint_dir = "run", .checkpoints = {.timeout_secs = 0, .final_step = 3}});
  evaluator.track("w", seen);
  leave();
  evaluator.run([&] { return Metrics{{"w", seen}}; });
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(has("run/eval/metrics.jsonl"));
}

// Hooks that are made before a change and begin after it.
TEST_F(WorkingDirectorySaverTest, HooksWriteWhereTheyWereMade) {
  local::Graph graph;
  graph.variable("w", Tensor::from<float>({1}));
  graph.create_global_step();
  const Operation step = graph.increment_global_step({});
  const auto saver = std::make_shared<Saver>(SaverOptions{.fallback_dir = "spare"});
  HookList hooks = {CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1, .saver = saver}),
                    StepCounterHook({.every_n_steps = 1, .output_dir = "rate"}),
                    EvaluationHook({.every_n_steps = 1,
                                    .evaluate =
                                        [] {
                                          return Metrics{{"a", 1}};
                                        },
                                    .output_dir = "eval"}),
                    StopAtStepHook({.last_step = 3})};
  auto creator = std::make_unique<ChiefSessionCreator>(
      graph, ChiefSessionCreatorOptions{.checkpoint_dir = "run"});
  leave();
  MonitoredSession session(std::move(creator), hooks);
  while (!session.should_stop()) session.run(step);
  session.close();
  EXPECT_TRUE(has("run/model.ckpt-3.index"));
  EXPECT_TRUE(has("spare/.lock"));
  EXPECT_GE(num_lines("rate/metrics.jsonl"), 1);
  EXPECT_GE(num_lines("eval/metrics.jsonl"), 3);
}

}  // namespace
}  // namespace crochet
