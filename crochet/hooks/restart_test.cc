// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

// A program that is started again on the files of its previous run.
class RestartTest : public testing::Test {
 protected:
  // Initialisation sets the step to 0 in every start; any other step was restored.
  std::unique_ptr<MonitoredSession> start(ScriptedGraph& graph, ChiefSessionCreatorOptions creation,
                                          HookList hooks) {
    creation.scaffold = scaffold_;
    return std::make_unique<MonitoredSession>(
        std::make_unique<ChiefSessionCreator>(graph, std::move(creation)), std::move(hooks));
  }

  LogCapture log_;
  MemoryFileSystem files_;
  std::shared_ptr<Scaffold> scaffold_ = std::make_shared<Scaffold>(
      Scaffold{.saver = std::make_shared<Saver>(SaverOptions{.files = &files_})});
};

// MS-59: saved by the hook at its end, restored from the directory and from the file itself.
TEST_F(RestartTest, ResumesFromTheDirectoryOrTheFile) {
  ScriptedGraph first;
  const auto session =
      start(first, {.checkpoint_dir = "d"},
            {CheckpointSaverHook({.checkpoint_dir = "d", .save_steps = 1, .scaffold = scaffold_})});
  EXPECT_EQ(session->current_step(), 0);
  session->run(first.train());
  session->run(first.train());
  session->close();

  ScriptedGraph second;
  const auto from_directory = start(second, {.checkpoint_dir = "d"}, {});
  EXPECT_EQ(from_directory->current_step(), 2);
  from_directory->close();

  ScriptedGraph third;
  const auto from_file = start(third, {.checkpoint_filename_with_path = "d/model.ckpt-2"}, {});
  EXPECT_EQ(from_file->current_step(), 2);
  from_file->close();

  ScriptedGraph fourth;
  const auto from_older_file =
      start(fourth, {.checkpoint_filename_with_path = "d/model.ckpt-1"}, {});
  EXPECT_EQ(from_older_file->current_step(), 1);
  from_older_file->close();
}

}  // namespace
}  // namespace crochet
