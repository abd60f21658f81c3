// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/scaffold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/memory_file_system.h"
#include "crochet/testing/scripted_session.h"

namespace crochet {
namespace {

// MS-1: nothing is there before finalize.
TEST(ScaffoldTest, IsEmptyAtFirst) {
  const Scaffold scaffold;
  EXPECT_EQ(scaffold.saver, nullptr);
  EXPECT_FALSE(scaffold.init_fn);
  EXPECT_TRUE(scaffold.summary_op.empty());
}

// MS-3: a graph without variables and summaries will do.
TEST(ScaffoldTest, IsFinalizedWithDefaults) {
  ScriptedGraph graph({.counts_steps = false});
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_NE(scaffold.saver, nullptr);
  EXPECT_TRUE(scaffold.summary_op.empty());
  EXPECT_TRUE(graph.finalized());
  const std::shared_ptr<Saver> saver = scaffold.saver;
  scaffold.finalize(graph);
  EXPECT_EQ(scaffold.saver, saver);
}

TEST(ScaffoldTest, TakesTheSummariesOfTheGraph) {
  ScriptedGraph graph;
  const Output loss = graph.value("loss", {Tensor::scalar(1.0f)});
  graph.add_to_collection(kSummariesCollection, loss);
  Scaffold scaffold;
  scaffold.finalize(graph);
  ASSERT_NE(scaffold.summary_op.as_map(), nullptr);
  EXPECT_EQ(*scaffold.summary_op.as_map()->at("loss").as_output(), loss);
}

// MS-6: what was given survives finalize.
TEST(ScaffoldTest, KeepsWhatWasGiven) {
  ScriptedGraph graph;
  const Output loss = graph.value("loss", {Tensor::scalar(1.0f)});
  graph.add_to_collection(kSummariesCollection, loss);
  const auto saver = std::make_shared<Saver>();
  Scaffold scaffold{.saver = saver, .summary_op = "global_step"};
  scaffold.finalize(graph);
  EXPECT_EQ(scaffold.saver, saver);
  EXPECT_EQ(*scaffold.summary_op.as_name(), "global_step");
}

TEST(ScaffoldTest, BuildsASaverThatWasDeferred) {
  ScriptedGraph graph;
  MemoryFileSystem files;
  Scaffold scaffold{
      .saver = std::make_shared<Saver>(SaverOptions{.defer_build = true, .files = &files})};
  EXPECT_THROW(scaffold.saver->snapshot(*graph.new_session("")), FailedPreconditionError);
  scaffold.finalize(graph);
  EXPECT_NO_THROW(scaffold.saver->snapshot(*graph.new_session("")));
}

}  // namespace
}  // namespace crochet
