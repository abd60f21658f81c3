// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint hooks on graphs whose own operations save, as in a cluster.
#include <algorithm>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/session/internal/state_operations.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;

// Writes the step; the n-th save, from 1, may fail.
class StepOperations final : public internal::StateOperations {
 public:
  explicit StepOperations(FileSystem& files) : files_(files) {}

  bool preferred_for(const Session&) const override { return true; }
  bool saves(std::string_view) const override { return true; }
  void save(Session& session, const std::string& prefix) override {
    ++num_saves;
    if (num_saves == failing_save) fail();
    internal::BundleWriter writer(files_, prefix);
    writer.add("global_step", Tensor::scalar(read_global_step(session)));
    writer.finish();
  }
  void restore(Session& session, const std::string&) override {
    ++num_restores;
    const std::vector<Variable> variables = session.graph().variables();
    const Assignment step{
        .variable = variables.front(), .shape = Shape(), .fill = [](std::span<std::byte> to) {
          std::ranges::fill(to, std::byte{0});
          to[0] = std::byte{2};
        }};
    session.assign({&step, 1});
  }

  int num_saves = 0;
  int num_restores = 0;
  int failing_save = 0;
  std::function<void()> fail;

 private:
  FileSystem& files_;
};

template <typename Hook>
class SaveByOperationsTest : public testing::Test {
 protected:
  SaveByOperationsTest() { graph_.attach<internal::StateOperations>(operations_); }

  // Saves each step.
  std::shared_ptr<Hook> train(int64_t last_step, SaveErrorPolicy on_save_error,
                              const std::string& fallback_dir = "") {
    auto saver = std::make_shared<Saver>(SaverOptions{.writer = StateWriter::kGraph,
                                                      .max_to_keep = 0,
                                                      .fallback_dir = fallback_dir,
                                                      .files = &files_,
                                                      .clock = &clock_});
    auto hook =
        std::make_shared<Hook>(CheckpointSaverHookOptions{.checkpoint_dir = "d",
                                                          .save_steps = 1,
                                                          .saver = saver,
                                                          .saving = {.on_error = on_save_error},
                                                          .clock = &clock_});
    MonitoredSession session(
        std::make_unique<ChiefSessionCreator>(
            graph_, ChiefSessionCreatorOptions{.scaffold = std::make_shared<Scaffold>(
                                                   Scaffold{.saver = saver}),
                                               .checkpoint_dir = "d"}),
        {hook}, {.clock = &clock_});
    while (*session.current_step() < last_step) session.run(graph_.train());
    session.close();
    return hook;
  }
  std::vector<std::string> saved() { return list_checkpoints(files_, "d", "model.ckpt"); }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
  ScriptedGraph graph_;
  std::shared_ptr<StepOperations> operations_ = std::make_shared<StepOperations>(files_);
};

using Hooks = testing::Types<CheckpointSaverHook, AsyncCheckpointSaverHook>;
TYPED_TEST_SUITE(SaveByOperationsTest, Hooks);

TYPED_TEST(SaveByOperationsTest, SavesEachStep) {
  const auto hook = this->train(2, SaveErrorPolicy::kContinue);
  EXPECT_THAT(this->saved(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-1", "d/model.ckpt-2"));
  EXPECT_EQ(this->operations_->num_saves, 3);
  EXPECT_EQ(hook->statistics().saved, 3);
}

// The operations restore the lost session's state, too.
TYPED_TEST(SaveByOperationsTest, ALostSessionIsRecovered) {
  this->operations_->failing_save = 4;
  this->operations_->fail = [] { throw UnavailableError("ps 0 is gone"); };
  const auto hook = this->train(4, SaveErrorPolicy::kContinue);
  EXPECT_EQ(this->operations_->num_restores, 1);
  EXPECT_EQ(this->saved().size(), 5);
  EXPECT_EQ(hook->statistics().failed, 0) << "the session failed, not the save";
}

TYPED_TEST(SaveByOperationsTest, UsesTheFallbackDirectoryForASaveThatFailed) {
  this->operations_->failing_save = 2;
  this->operations_->fail = [] { throw ResourceExhaustedError("no room on ps 0"); };
  const auto hook = this->train(2, SaveErrorPolicy::kContinue, "e");
  EXPECT_THAT(this->saved(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2"));
  EXPECT_THAT(list_checkpoints(this->files_, "e", "model.ckpt"), ElementsAre("e/model.ckpt-1"));
  EXPECT_EQ(hook->statistics().saved, 3);
  EXPECT_EQ(hook->statistics().saved_in_fallback, 1);
  EXPECT_EQ(hook->statistics().retries, 1);
  EXPECT_EQ(hook->statistics().failed, 0);
}

using SaveByOperationsAsyncTest = SaveByOperationsTest<AsyncCheckpointSaverHook>;

TEST_F(SaveByOperationsAsyncTest, TrainingContinuesAfterAFailedSave) {
  operations_->failing_save = 2;
  operations_->fail = [] { throw ResourceExhaustedError("no room on ps 0"); };
  const auto hook = train(2, SaveErrorPolicy::kContinue);
  EXPECT_EQ(hook->num_failed(), 1);
  EXPECT_EQ(hook->num_saved(), 2);
  EXPECT_THAT(saved(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2"));
  EXPECT_TRUE(log_.contains("no room on ps 0"));
}

// The error is thrown by the next run or at the end, whichever comes first once it is known, even
// if the save at the end succeeds.
TEST_F(SaveByOperationsAsyncTest, StopsAfterAFailedSaveIfAsked) {
  operations_->failing_save = 2;
  operations_->fail = [] { throw ResourceExhaustedError("no room on ps 0"); };
  EXPECT_THROW(train(1, SaveErrorPolicy::kStop), ResourceExhaustedError);
  operations_->failing_save = operations_->num_saves + 2;
  EXPECT_THROW(train(3, SaveErrorPolicy::kStop), ResourceExhaustedError);
}

}  // namespace
}  // namespace crochet
