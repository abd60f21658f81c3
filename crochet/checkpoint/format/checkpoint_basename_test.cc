// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/checkpoint_manager.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"

namespace crochet {
namespace {

const std::vector<std::string>& bad_names() {
  static const std::vector<std::string> names = {
      "",       ".",      "..",         "digits/model", "../x/model",         "/model",
      "model/", ".model", "m-00001-of", "m-12345-of",   std::string(129, 'm')};
  return names;
}

TEST(CheckpointBasenameTest, RejectsNamesThatLeaveTheDirectoryOrAreNotFoundAgain) {
  for (const std::string& name : bad_names())
    EXPECT_THROW(CheckpointBasename{name}, InvalidArgumentError) << name;
}

// Each name that is accepted is found again, in each format, under each kind of step number.
TEST(CheckpointBasenameTest, WhatIsSavedUnderAnAcceptedNameIsListed) {
  for (const std::string& name :
       {std::string("model.ckpt"), std::string("m"), std::string("a b"), std::string("m-5"),
        std::string("m.index"), std::string("m.json"), std::string("m.safetensors"),
        std::string("m.tempstate5"), std::string("m.data-00000-of-00001"),
        std::string("checkpoint"), std::string("m-00001"), std::string("-"), std::string(128, 'm')})
    for (const CheckpointFormat format :
         {CheckpointFormat::kTensorBundle, CheckpointFormat::kSafetensors})
      for (const bool pad : {false, true}) {
        MemoryFileSystem files;
        ScriptedGraph graph;
        graph.variable("w", Tensor::from<float>({1, 2, 3}));
        const auto session = graph.new_session("");
        Saver saver({.format = format, .pad_step_number = pad, .files = &files});
        for (const int64_t step : {int64_t{0}, int64_t{2000}, int64_t{123456789}})
          saver.save(*session, "run/" + name, step);
        EXPECT_EQ(list_checkpoints(files, "run", name).size(), 3u) << name;
        EXPECT_TRUE(Saver({.files = &files}).restore_newest(*session, "run", name)) << name;
      }
}

TEST(CheckpointBasenameTest, NoCallThatTakesANameAcceptsABadOne) {
  MemoryFileSystem files;
  ScriptedGraph graph;
  graph.variable("w", Tensor::from<float>({1}));
  const auto session = graph.new_session("");
  Saver saver({.files = &files});
  for (const std::string& name : bad_names()) {
    EXPECT_THROW(saver.restore_newest(*session, "run", name), InvalidArgumentError) << name;
    EXPECT_THROW(list_checkpoints(files, "run", name), InvalidArgumentError) << name;
    EXPECT_THROW(CheckpointManager(
                     {.directory = "run", .checkpoint_name = name, .saver = {.files = &files}}),
                 InvalidArgumentError)
        << name;
    // In a path, what is before the last slash is the directory, which the program chose.
    if (name.find('/') == std::string::npos || name.ends_with('/')) {
      EXPECT_THROW(saver.save(*session, "run/" + name, 5), InvalidArgumentError) << name;
      EXPECT_THROW(saver.save_async(*session, "run/" + name, 5), InvalidArgumentError) << name;
    }
  }
  for (const char* const name : {"", ".", "..", "d/checkpoint", "../checkpoint", ".checkpoint"}) {
    EXPECT_THROW(Saver({.latest_filename = name, .files = &files}), InvalidArgumentError) << name;
    EXPECT_THROW(get_checkpoint_state(files, "run", name), InvalidArgumentError) << name;
    EXPECT_THROW(remove_leftovers(files, "run", "m", name), InvalidArgumentError) << name;
  }
  EXPECT_FALSE(files.exists("run"));
}

}  // namespace
}  // namespace crochet
