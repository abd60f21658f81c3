// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two numbers that belong in checkpoints.
class PatientHook final : public SessionRunHook {
 public:
  void after_create_session(Session&, Coordinator&) override { best_at_creation = best; }
  SaveableMap saveables() override {
    return {{"best", saveable_value(best)}, {"patience", saveable_value(patience)}};
  }

  double best = 0;
  int64_t patience = 0;
  double best_at_creation = -1;
};

// A hook without state, which does not count when hooks of one name are numbered.
class StatelessHook final : public SessionRunHook {
 public:
  std::string name() const override { return "PatientHook"; }
};

class HookStateTest : public testing::Test {
 protected:
  HookStateTest() { scaffold_->saver = saver_; }

  MonitoredSession session(HookList hooks) {
    return MonitoredSession(
        std::make_unique<ChiefSessionCreator>(
            graph_, ChiefSessionCreatorOptions{.scaffold = scaffold_, .checkpoint_dir = "d"}),
        std::move(hooks));
  }
  // Saves the state that a session with these hooks would save.
  void save(HookList hooks) {
    MonitoredSession open = session(std::move(hooks));
    saver_->save(*graph_.new_session(""), "d/model.ckpt", 1);
    open.close();
  }
  std::vector<std::string> saved_names() {
    const CheckpointReader reader("d/model.ckpt-1", files_);
    std::vector<std::string> names;
    for (const auto& [name, info] : reader.tensors()) names.push_back(name);
    return names;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  ScriptedGraph graph_;
  std::shared_ptr<Saver> saver_ = std::make_shared<Saver>(SaverOptions{.files = &files_});
  std::shared_ptr<Scaffold> scaffold_ = std::make_shared<Scaffold>();
  std::shared_ptr<PatientHook> first_ = std::make_shared<PatientHook>();
  std::shared_ptr<PatientHook> second_ = std::make_shared<PatientHook>();
};

TEST_F(HookStateTest, IsSavedUnderTheHooksName) {
  save({StatelessHook(), first_, second_});
  EXPECT_THAT(saved_names(),
              ElementsAre("global_step", "hooks/PatientHook/best", "hooks/PatientHook/patience",
                          "hooks/PatientHook_1/best", "hooks/PatientHook_1/patience"));
}

TEST_F(HookStateTest, IsRestoredBeforeTheHooksSeeTheSession) {
  first_->best = 0.5;
  second_->best = 0.25;
  second_->patience = 3;
  save({first_, second_});
  first_ = std::make_shared<PatientHook>();
  second_ = std::make_shared<PatientHook>();
  MonitoredSession resumed = session({first_, second_});
  EXPECT_EQ(first_->best_at_creation, 0.5);
  EXPECT_EQ(second_->best_at_creation, 0.25);
  EXPECT_EQ(second_->patience, 3);
  resumed.close();
}

TEST_F(HookStateTest, MayBeMissing) {
  save({});
  first_->best = 7;
  session({first_}).close();
  EXPECT_EQ(first_->best_at_creation, 7);
  EXPECT_TRUE(log_.contains("has no state of \"hooks/PatientHook/best\""));
}

TEST_F(HookStateTest, MayHaveExtraEntries) {
  save({first_});
  session({}).close();
  EXPECT_TRUE(log_.contains("no hook of this run uses the state \"hooks/PatientHook/best\""));
}

TEST_F(HookStateTest, MayBeOfAnotherType) {
  class OtherHook final : public SessionRunHook {
   public:
    SaveableMap saveables() override { return {{"best", saveable_value(best)}}; }
    std::string name() const override { return "PatientHook"; }
    float best = 7;
  };
  save({first_});
  const auto other = std::make_shared<OtherHook>();
  session({other}).close();
  EXPECT_EQ(other->best, 7);
  EXPECT_TRUE(log_.contains("it starts afresh"));
}

TEST_F(HookStateTest, IsRemovedFromTheGraphWithTheSession) {
  MonitoredSession open = session({first_});
  EXPECT_EQ(graph_.saveables().size(), 2);
  open.close();
  EXPECT_THAT(graph_.saveables(), IsEmpty());
}

}  // namespace
}  // namespace crochet
