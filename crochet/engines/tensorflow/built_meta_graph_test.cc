// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The graph that is stored with a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/internal/meta_graph_writer.h"
#include "crochet/engines/tensorflow/internal/proto_reader.h"
#include "crochet/session/graph.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Graph import_again(const Graph& graph) {
  return Graph::from_meta_graph(*graph.meta_graph(), "kept");
}

// The number in field `number` of the message in field `message_number`.
int64_t number_in(std::string_view bytes, uint32_t message_number, uint32_t number) {
  int64_t result = -1;
  internal::ProtoReader(bytes, "message").for_each_field([&](uint32_t field, auto& value) {
    if (field != internal::bytes_field(message_number)) return false;
    value.message("inner").for_each_field([&](uint32_t inner, auto& part) {
      if (inner != internal::varint_field(number)) return false;
      result = part.int64();
      return true;
    });
    return true;
  });
  return result;
}

// GraphDef.versions.producer.
int64_t producer_of(const std::string& graph_def) { return number_in(graph_def, 4, 1); }

TEST(KeptGraphTest, IsTheFileIfNothingWasAdded) {
  for (const char* const name : {"kinds", "scaffold", "saving", "queues"}) {
    Graph graph = import_golden(name);
    EXPECT_EQ(*graph.meta_graph(), golden_bytes(name));
    // crochet's own operations are created again in the next run.
    const Output init = graph.default_init_op();
    graph.default_ready_op();
    graph.add_to_collection(kInitOpCollection, init);
    EXPECT_EQ(*graph.meta_graph(), golden_bytes(name)) << name;
  }
}

TEST(KeptGraphTest, HasAddedOperations) {
  Graph graph = import_golden("kinds");
  GraphBuilder build(graph);
  const auto one = build.constant("added/one", 1.0f);
  const auto kept = graph.meta_graph();
  EXPECT_EQ(graph.meta_graph(), kept);
  build.variable("added/v", one);
  build.scalar_summary("added/curve", one);
  EXPECT_NE(graph.meta_graph(), kept);

  Graph again = import_again(graph);
  EXPECT_TRUE(again.find_operation("added/one"));
  for (const std::string& name : graph.operation_names())
    EXPECT_TRUE(again.find_operation(name)) << name;
  EXPECT_EQ(again.variables().size(), graph.variables().size());
  EXPECT_EQ(again.variables().back().name(), "added/v");
  EXPECT_THAT(again.collection(kSummariesCollection),
              ElementsAre(again.output("total"), again.output("added/curve")));
}

// SV-48: collections of operations, tensors, variables, numbers and messages are restored.
TEST(KeptGraphTest, HasOperationsOfTheFileAddedToCollections) {
  Graph graph = import_golden("kinds");
  graph.add_to_collection("train_op", graph.operation("change_resource"));
  EXPECT_THAT(import_again(graph).definition().nodes.at("train_op"),
              ElementsAre("change_resource"));
  // Later, too.
  graph.add_to_collection("train_op", graph.operation("change_reference"));
  EXPECT_THAT(import_again(graph).definition().nodes.at("train_op"),
              ElementsAre("change_resource", "change_reference"));
}

// SV-53: the slice of a partitioned variable is restored.
// Unknown fields are kept, too.
TEST(KeptGraphTest, KeepsUnknownFields) {
  const std::string unknown = "\xc2\x3e\x03xyz";  // Field 1000.
  Graph graph = Graph::from_meta_graph(golden_bytes("kinds") + unknown, "kinds");
  GraphBuilder build(graph);
  build.variable("added", Tensor::scalar(1.0f));
  const std::string kept = *graph.meta_graph();
  EXPECT_THAT(kept, HasSubstr(unknown));
  const MetaGraph before = parse_meta_graph(golden_bytes("kinds"), "kinds");
  const MetaGraph after = parse_meta_graph(kept, "kept");
  EXPECT_EQ(after.tensorflow_version, before.tensorflow_version);
  EXPECT_EQ(after.saver->restore_op_name, before.saver->restore_op_name);
  EXPECT_EQ(after.saver->max_to_keep, 3);
  EXPECT_EQ(after.numbers, before.numbers);
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.queue_runners.size(), before.queue_runners.size());
  ASSERT_EQ(after.variables.at("variables").size(), before.variables.at("variables").size() + 1);
  for (size_t i = 0; i < before.variables.at("variables").size(); ++i) {
    const VariableDef& one = before.variables.at("variables")[i];
    const VariableDef& other = after.variables.at("variables")[i];
    EXPECT_EQ(other.variable_name, one.variable_name);
    ASSERT_EQ(other.slice.has_value(), one.slice.has_value());
    if (!one.slice) continue;
    EXPECT_EQ(other.slice->full_name, one.slice->full_name);
    EXPECT_EQ(other.slice->offset, one.slice->offset);
    EXPECT_EQ(other.slice->shape, one.slice->shape);
  }
  EXPECT_EQ(after.messages, before.messages);
}

TEST(KeptGraphTest, HasTheVersionsOfTheFile) {
  const std::string bytes = golden_bytes("contract_resource");
  MetaGraph older;
  older.graph_def = parse_meta_graph(bytes, "new").graph_def + "\x22\x03\x08\xdc\x0b";
  EXPECT_EQ(producer_of(older.graph_def), 1500);
  Graph graph = Graph::from_meta_graph(internal::extend(bytes, older), "old");
  GraphBuilder(graph).group("added", {});
  EXPECT_EQ(producer_of(parse_meta_graph(*graph.meta_graph(), "kept").graph_def), 1500);
}

TEST(KeptGraphTest, HasTheFunctionsOfTheFileAndTheAddedOnes) {
  const auto same = [](GraphBuilder&, const std::vector<Output>& in) { return in[0]; };
  Graph built;
  GraphBuilder(built).function("first", {{"x", DType::kFloat}}, same);
  GraphBuilder(built).group("nothing", {});
  Graph imported = import_again(built);
  EXPECT_EQ(imported.meta_graph(), imported.meta_graph());
  const std::string before = *imported.meta_graph();
  GraphBuilder(imported).function("second", {{"x", DType::kFloat}}, same);
  EXPECT_NE(*imported.meta_graph(), before);
  Graph again = import_again(imported);
  EXPECT_TRUE(GraphBuilder(again).function("first"));
  EXPECT_TRUE(GraphBuilder(again).function("second"));
}

// SV-65: a data set with a function is restored.
TEST(KeptGraphTest, HasItsDataSets) {
  Graph graph = import_golden("dataset");
  const Output start = graph.operation("initialize");
  GraphBuilder build(graph);
  build.op("Neg", "negative", {graph.output("next")});
  Graph again = import_again(graph);
  for (Graph* const each : {&graph, &again}) {
    const auto session = each->new_session("");
    session->run(each->operation(start.operation()->name));
    for (const int64_t square : {0, 1, 4, 9})
      EXPECT_EQ(session->run("negative").scalar<int64_t>(), -square);
    EXPECT_THROW(session->run("negative"), OutOfRangeError);
  }
}

// Copies of reference variables, the read of the step and initialisers exist already.
TEST(KeptGraphTest, IsStableWhenExportedAgain) {
  Graph first = import_golden("contract_reference");
  GraphBuilder(first).group("added", {});
  first.add_to_collection(kInitOpCollection, first.default_init_op());
  first.add_to_collection(kReadyOpCollection, first.default_ready_op());
  Graph second = import_again(first);
  GraphBuilder(second).group("added_too", {});
  Graph third = import_again(second);
  std::vector<std::string> expected = second.operation_names();
  EXPECT_THAT(third.operation_names(), testing::UnorderedElementsAreArray(expected));
  EXPECT_THAT(expected, Contains("crochet/snapshot/matrix"));

  const Output init = third.collection(kInitOpCollection).at(0);
  // A further one can be added.
  const Output one_more = third.default_init_op();
  EXPECT_NE(one_more, init);
  const Output ready = third.default_ready_op();
  const Output local_init = third.default_local_init_op();
  for (const Output& each : {init, one_more}) {
    const auto session = third.new_session("");
    EXPECT_GT(session->run(ready).tensor().num_elements(), 0);
    session->run({each, local_init});
    EXPECT_EQ(session->run(third.collection(kReadyOpCollection).at(0)).tensor().num_elements(), 0);
    session->run(third.operation("train"));
    EXPECT_EQ(read_global_step(*session), 1);
    EXPECT_EQ(session->snapshot(third.variables()).tensors().size(), third.variables().size());
  }
}

TEST(KeptGraphTest, IsRejectedIfACopyOfAVariableIsNotACopy) {
  const std::string name = "crochet/snapshot/matrix";
  Graph graph = import_golden("contract_reference");
  GraphBuilder(graph).group("added", {});
  std::string bytes = *graph.meta_graph();
  const size_t at = bytes.find("DeepCopy", bytes.find(name));
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 8, "Identity");
  EXPECT_THAT([&] { Graph::from_meta_graph(bytes, "changed"); },
              testing::ThrowsMessage<InvalidArgumentError>(HasSubstr(name)));
}

}  // namespace
}  // namespace crochet::tensorflow
