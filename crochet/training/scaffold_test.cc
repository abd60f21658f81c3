// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/scaffold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/session_creator.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

// The names that a ready operation gives in this session.
std::vector<std::string> names(Session& session, const Fetches& ready_op) {
  const FetchValues values = session.run(ready_op);
  return {values.tensor().strings().begin(), values.tensor().strings().end()};
}

// MS-1: nothing is set before finalize.
TEST(ScaffoldTest, IsEmptyAtFirst) {
  const Scaffold scaffold;
  EXPECT_EQ(scaffold.saver, nullptr);
  EXPECT_TRUE(scaffold.init_op.empty());
  EXPECT_TRUE(scaffold.init_feed_dict.empty());
  EXPECT_FALSE(scaffold.init_fn);
  EXPECT_TRUE(scaffold.ready_op.empty());
  EXPECT_TRUE(scaffold.ready_for_local_init_op.empty());
  EXPECT_TRUE(scaffold.local_init_op.empty());
  EXPECT_TRUE(scaffold.summary_op.empty());
}

// MS-2: finalize creates all operations; ready_op names what is not initialised, until it is.
TEST(ScaffoldTest, CreatesInitOperationsForAnEngineThatNeedsThem) {
  ScriptedGraph graph({.counts_steps = false, .starts_initialized = false});
  graph.variable("my_var", Tensor::scalar(1.0f));
  graph.local_variable("my_local_var", Tensor::scalar(1.0f));
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_TRUE(graph.finalized());
  EXPECT_NE(scaffold.saver, nullptr);
  const auto session = graph.new_session("");
  EXPECT_THAT(names(*session, scaffold.ready_op), UnorderedElementsAre("my_var", "my_local_var"));
  EXPECT_THAT(names(*session, scaffold.ready_for_local_init_op), ElementsAre("my_var"));
  session->run(scaffold.init_op);
  EXPECT_THAT(names(*session, scaffold.ready_op), ElementsAre("my_local_var"));
  EXPECT_THAT(names(*session, scaffold.ready_for_local_init_op), IsEmpty());
  session->run(scaffold.local_init_op);
  EXPECT_THAT(names(*session, scaffold.ready_op), IsEmpty());
}

// MS-3: a graph without variables and summaries is accepted.
TEST(ScaffoldTest, IsFinalizedWithDefaults) {
  ScriptedGraph graph({.counts_steps = false, .starts_initialized = false});
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_NE(scaffold.saver, nullptr);
  EXPECT_FALSE(scaffold.init_op.empty());
  EXPECT_TRUE(scaffold.summary_op.empty());
  EXPECT_TRUE(graph.finalized());
}

TEST(ScaffoldTest, ChangesNothingWhenFinalizedAgain) {
  ScriptedGraph graph({.starts_initialized = false});
  Scaffold scaffold;
  scaffold.finalize(graph);
  const std::shared_ptr<Saver> saver = scaffold.saver;
  const Output init_op = *scaffold.init_op.as_output();
  const size_t num_operations = graph.operation_names().size();
  scaffold.finalize(graph);
  EXPECT_EQ(scaffold.saver, saver);
  EXPECT_EQ(*scaffold.init_op.as_output(), init_op);
  EXPECT_EQ(graph.operation_names().size(), num_operations);
}

TEST(ScaffoldTest, CreatesNoOperationsForAnEngineThatNeedsNone) {
  ScriptedGraph graph;
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_TRUE(scaffold.init_op.empty());
  EXPECT_TRUE(scaffold.ready_op.empty());
  EXPECT_TRUE(scaffold.ready_for_local_init_op.empty());
  EXPECT_TRUE(scaffold.local_init_op.empty());
  EXPECT_THAT(graph.collection(kInitOpCollection), IsEmpty());
}

// MS-4: the next scaffold of a graph shares what the first one created.
TEST(ScaffoldTest, SharesItsOperationsWithTheNextScaffold) {
  ScriptedGraph graph({.starts_initialized = false});
  graph.local_variable("local", Tensor::scalar(1.0f));
  Scaffold first;
  first.finalize(graph);
  graph.unfinalize();
  Scaffold second;
  second.finalize(graph);
  EXPECT_EQ(*first.init_op.as_output(), *second.init_op.as_output());
  EXPECT_EQ(*first.ready_op.as_output(), *second.ready_op.as_output());
  EXPECT_EQ(*first.ready_for_local_init_op.as_output(),
            *second.ready_for_local_init_op.as_output());
  EXPECT_EQ(*first.local_init_op.as_output(), *second.local_init_op.as_output());
  EXPECT_EQ(first.saver, second.saver);
  EXPECT_THAT(graph.collection(kInitOpCollection), ElementsAre(*first.init_op.as_output()));
}

TEST(ScaffoldTest, UsesTheCollectionsOfTheGraph) {
  ScriptedGraph graph({.starts_initialized = false});
  const auto saver = std::make_shared<Saver>();
  register_saver(graph, saver);
  const Operation init = graph.initializer("my_init", graph.variables());
  graph.add_to_collection(kInitOpCollection, init);
  graph.add_to_collection(kSummaryOpCollection, graph.output("global_step"));
  Scaffold scaffold;
  scaffold.finalize(graph);
  EXPECT_EQ(scaffold.saver, saver);
  EXPECT_EQ(*scaffold.init_op.as_output(), Output(init));
  EXPECT_EQ(*scaffold.summary_op.as_output(), graph.output("global_step"));
}

// MS-5: a graph has at most one saver, and at most one operation of each kind.
TEST(ScaffoldTest, RejectsAGraphWithSeveralOfAKind) {
  ScriptedGraph two_savers;
  register_saver(two_savers, std::make_shared<Saver>());
  register_saver(two_savers, std::make_shared<Saver>());
  EXPECT_THAT([&] { Scaffold().finalize(two_savers); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("More than one item")));
  for (const std::string_view collection :
       {kInitOpCollection, kReadyOpCollection, kReadyForLocalInitOpCollection,
        kLocalInitOpCollection, kSummaryOpCollection}) {
    ScriptedGraph graph;
    for (int i = 0; i < 2; ++i) graph.add_to_collection(collection, graph.train());
    EXPECT_THAT([&] { Scaffold().finalize(graph); },
                ThrowsMessage<FailedPreconditionError>(
                    AllOf(HasSubstr("More than one item"), HasSubstr(std::string(collection)))));
  }
}

TEST(ScaffoldTest, UsesTheSummariesOfTheGraph) {
  ScriptedGraph graph;
  const Output loss = graph.value("loss", {Tensor::scalar(1.0f)});
  graph.add_to_collection(kSummariesCollection, loss);
  Scaffold scaffold;
  scaffold.finalize(graph);
  ASSERT_NE(scaffold.summary_op.as_map(), nullptr);
  EXPECT_EQ(*scaffold.summary_op.as_map()->at("loss").as_output(), loss);
}

// MS-6: members set by the user survive finalize, and are not added to the graph.
TEST(ScaffoldTest, KeepsMembersThatAreSet) {
  ScriptedGraph graph({.starts_initialized = false});
  const Output loss = graph.value("loss", {Tensor::scalar(1.0f)});
  graph.add_to_collection(kSummariesCollection, loss);
  graph.local_variable("local", Tensor::scalar(1.0f));
  const auto saver = std::make_shared<Saver>();
  Session* initialized = nullptr;
  Scaffold scaffold{.saver = saver,
                    .init_op = "train",
                    .init_feed_dict = {{loss, Tensor::scalar(2.0f)}},
                    .init_fn = [&](Session& session) { initialized = &session; },
                    .ready_op = "loss",
                    .ready_for_local_init_op = {loss},
                    .local_init_op = {loss, graph.train()},
                    .summary_op = "global_step"};
  scaffold.finalize(graph);
  EXPECT_EQ(scaffold.saver, saver);
  EXPECT_EQ(*scaffold.init_op.as_name(), "train");
  EXPECT_EQ(scaffold.init_feed_dict.size(), 1);
  EXPECT_EQ(*scaffold.ready_op.as_name(), "loss");
  EXPECT_EQ(scaffold.ready_for_local_init_op.as_list()->size(), 1);
  EXPECT_EQ(scaffold.local_init_op.as_list()->size(), 2);
  EXPECT_EQ(*scaffold.summary_op.as_name(), "global_step");
  const auto session = graph.new_session("");
  scaffold.init_fn(scaffold, *session);
  EXPECT_EQ(initialized, session.get());
  for (const std::string_view collection :
       {kInitOpCollection, kReadyOpCollection, kReadyForLocalInitOpCollection,
        kLocalInitOpCollection, kSummaryOpCollection})
    EXPECT_THAT(graph.collection(collection), IsEmpty());
  EXPECT_EQ(registered_saver(graph), nullptr);
}

Scaffold full_scaffold(const std::string& name) {
  return {.saver = std::make_shared<Saver>(),
          .init_op = name,
          .init_feed_dict = {{Output(), Tensor::scalar(name)}},
          .init_fn = [](Session&) {},
          .ready_op = name,
          .ready_for_local_init_op = name,
          .local_init_op = name,
          .local_init_feed_dict = {{Output(), Tensor::scalar(name)}},
          .summary_op = name};
}

void expect_same(const Scaffold& copy, const Scaffold& original) {
  EXPECT_EQ(copy.saver, original.saver);
  EXPECT_EQ(*copy.init_op.as_name(), *original.init_op.as_name());
  EXPECT_EQ(copy.init_feed_dict, original.init_feed_dict);
  EXPECT_TRUE(copy.init_fn);
  EXPECT_EQ(*copy.ready_op.as_name(), *original.ready_op.as_name());
  EXPECT_EQ(*copy.ready_for_local_init_op.as_name(), *original.ready_for_local_init_op.as_name());
  EXPECT_EQ(*copy.local_init_op.as_name(), *original.local_init_op.as_name());
  EXPECT_EQ(copy.local_init_feed_dict, original.local_init_feed_dict);
  EXPECT_EQ(*copy.summary_op.as_name(), *original.summary_op.as_name());
}

// MS-8: copied from an empty scaffold, it keeps its own members.
TEST(CopyFromScaffoldTest, KeepsItsOwnMembersIfTheSourceIsEmpty) {
  const Scaffold own = full_scaffold("own");
  expect_same(copy_from_scaffold(Scaffold(), own), own);
}

TEST(CopyFromScaffoldTest, TakesUnsetMembersFromTheSource) {
  const Scaffold source = full_scaffold("source");
  expect_same(copy_from_scaffold(source), source);
}

// MS-9: members that are set win over the source's.
TEST(CopyFromScaffoldTest, PrefersItsOwnMembers) {
  const Scaffold own = full_scaffold("own");
  expect_same(copy_from_scaffold(full_scaffold("source"), own), own);
}

// MS-9: the source's init_fn is called with the new scaffold.
TEST(CopyFromScaffoldTest, CallsTheInitFnWithTheNewScaffold) {
  const Scaffold* called_with = nullptr;
  const Scaffold source{
      .init_fn = [&](const Scaffold& scaffold, Session&) { called_with = &scaffold; }};
  const auto copy = std::make_shared<Scaffold>(copy_from_scaffold(source));
  ScriptedGraph graph;
  ChiefSessionCreator(graph, {.scaffold = copy}).create_session();
  EXPECT_EQ(called_with, copy.get());
}

TEST(ScaffoldTest, BuildsADeferredSaver) {
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
