// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/graph.h"

#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/internal/process_facts.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/saved_model.h"
#include "crochet/io/file_system.h"
#include "crochet/session/queue_runner.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

std::vector<std::string> variable_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& variable : graph.variables()) names.push_back(variable.name());
  return names;
}

std::vector<std::string> strings(const FetchValues& values) {
  const std::span<const std::string> all = values.tensor().strings();
  return {all.begin(), all.end()};
}

TEST(TensorFlowGraphTest, HasTheSavedVariables) {
  const Graph graph = import_golden("kinds");
  EXPECT_THAT(variable_names(graph),
              UnorderedElementsAre("global_step", "resource", "reference", "flag", "half", "words",
                                   "parts", "reference_parts", "twin_a", "twin_b", "grown"));
  EXPECT_EQ(variable_of(graph, "half").dtype(), DType::kHalf);
  EXPECT_EQ(variable_of(graph, "flag").shape(), Shape());
  EXPECT_EQ(variable_of(graph, "words").dtype(), DType::kString);
  EXPECT_EQ(variable_of(graph, "parts").shape(), (Shape{5, 3}));
  EXPECT_EQ(variable_of(graph, "reference").dtype(), DType::kFloat);
}

// For the journal of a run.
TEST(TensorFlowGraphTest, NamesItsLibrary) {
  const Graph graph = import_golden("kinds");
  EXPECT_THAT(crochet::internal::libraries(),
              testing::Contains(testing::StartsWith("tensorflow ")));
}

TEST(TensorFlowGraphTest, KnowsTypesAndShapesOfOutputs) {
  const Graph graph = import_golden("kinds");
  EXPECT_EQ(graph.output_info(graph.output("product")).dtype, DType::kFloat);
  const OutputInfo info = graph.output_info(graph.output("looked_up"));
  EXPECT_EQ(info.dtype, DType::kInt64);
  EXPECT_EQ(info.shape, Shape{2});
  EXPECT_FALSE(graph.output_info(graph.output("left")).shape);
  EXPECT_EQ(graph.output_info(graph.operation("enqueue")).dtype, DType::kInvalid);
}

TEST(TensorFlowGraphTest, RejectsOutputsOfOtherGraphs) {
  const Graph graph = import_golden("kinds");
  const Graph other = import_golden("kinds");
  EXPECT_THROW(graph.output_info(other.output("total")), InvalidArgumentError);
  EXPECT_THROW(graph.output_info(Output(graph.find_operation("total"), 1)), InvalidArgumentError);
  const OperationInfo of_another_engine = {.graph = nullptr, .name = "x", .num_outputs = 1};
  EXPECT_THROW(graph.output_info(Output(&of_another_engine, 0)), InvalidArgumentError);
}

TEST(TensorFlowGraphTest, HasTheCollections) {
  const Graph graph = import_golden("kinds");
  EXPECT_THAT(graph.collection("summaries"), ElementsAre(graph.output("total:0")));
  const Graph with_scaffold = import_golden("scaffold");
  for (const std::string_view name : {kInitOpCollection, kReadyOpCollection, kLocalInitOpCollection,
                                      kReadyForLocalInitOpCollection})
    EXPECT_THAT(with_scaffold.collection(name), SizeIs(1)) << name;
}

// The variable's name, not that of the node that reads it.
TEST(TensorFlowGraphTest, KnowsTheNameOfTheStep) {
  EXPECT_EQ(import_golden("contract_resource").global_step_name(), "global_step");
  EXPECT_EQ(import_golden("contract_reference").global_step_name(), "global_step");
}

TEST(TensorFlowGraphTest, HasTheQueueRunners) {
  const Graph graph = import_golden("kinds");
  ASSERT_THAT(graph.background_loops(), SizeIs(1));
  EXPECT_EQ(graph.background_loops().front()->name(), "queue");
}

TEST(TensorFlowGraphTest, KeepsTheFileForCheckpoints) {
  EXPECT_EQ(*import_golden("kinds").meta_graph(), golden_bytes("kinds"));
}

// SV-52 differs: text is rejected; an invalid or missing file is a typed error.
TEST(TensorFlowGraphTest, ReadsOnlyBinaryFiles) {
  const TempDirectory directory;
  EXPECT_THAT([&] { Graph::import_meta_graph(directory / "none.meta"); },
              ThrowsMessage<NotFoundError>(HasSubstr("none.meta")));
  const auto import = [&](const char* text) {
    replace_file(FileSystem::posix(), directory / "text.meta", text);
    Graph::import_meta_graph(directory / "text.meta");
  };
  EXPECT_THAT([&] { import("junk"); }, ThrowsMessage<DataLossError>(HasSubstr("text.meta")));
  EXPECT_THAT(
      [&] { import("meta_info_def {\n  tensorflow_version: \"2.21.0\"\n}\n"); },
      ThrowsMessage<UnimplementedError>(HasSubstr("text.meta: this is a graph in text form")));
}

// A sparse file would use its full length in memory.
TEST(TensorFlowGraphTest, RejectsSparseFiles) {
  const TempDirectory directory;
  const std::string path = directory / "saved_model.pb";
  replace_file(FileSystem::posix(), path, "");
  for (const uint64_t size : {uint64_t{1} << 30, uint64_t{200} << 30}) {
    std::filesystem::resize_file(path, size);
    EXPECT_THAT([&] { Graph::import_meta_graph(path); },
                ThrowsMessage<DataLossError>(HasSubstr(path)));
    EXPECT_THAT([&] { Graph::import_graph_def(path); },
                ThrowsMessage<DataLossError>(HasSubstr(path)));
    EXPECT_THAT([&] { SavedModel(directory.path()); },
                ThrowsMessage<DataLossError>(HasSubstr(path)));
  }
}

TEST(TensorFlowGraphTest, ListsUninitializedVariables) {
  Graph graph = import_golden("kinds");
  const Output init = graph.default_init_op();
  const Output local_init = graph.default_local_init_op();
  const Output ready = graph.default_ready_op();
  const Output ready_for_local = graph.default_ready_for_local_init_op();
  const auto session = graph.new_session("");
  EXPECT_THAT(strings(session->run(ready)),
              UnorderedElementsAre("global_step", "resource", "reference", "flag", "half", "words",
                                   "parts/part_0", "parts/part_1", "reference_parts/part_0",
                                   "reference_parts/part_1", "twin_a", "twin_b", "grown", "local"));
  EXPECT_THAT(strings(session->run(ready_for_local)), SizeIs(13));
  session->run(init);
  EXPECT_THAT(strings(session->run(ready)), ElementsAre("local"));
  EXPECT_THAT(strings(session->run(ready_for_local)), ElementsAre());
  session->run(local_init);
  EXPECT_THAT(strings(session->run(ready)), ElementsAre());
  EXPECT_EQ(session->run("looked_up").tensor(), Tensor::from<int64_t>({2, -1}));  // Tables, too.
}

TEST(TensorFlowGraphTest, NeedsNoLocalInitializationWithoutLocalState) {
  Graph graph = import_golden("scaffold");
  EXPECT_TRUE(graph.default_init_op());
  EXPECT_FALSE(graph.default_local_init_op());
  EXPECT_FALSE(graph.default_ready_for_local_init_op());
}

TEST(TensorFlowGraphTest, GroupsOperations) {
  InitializedGraph it("contract_resource");
  const Output members[] = {it.graph.operation("train"), it.graph.output("probe")};
  const Operation both = it.graph.group("more/both", members);
  it.session->run(both);
  EXPECT_EQ(read_global_step(*it.session), 1);
  EXPECT_EQ(it.graph.operation("more/both"), both);
}

TEST(TensorFlowGraphTest, RejectsNamesThatTensorFlowCannotRun) {
  Graph graph = import_golden("contract_resource");
  Graph other = import_golden("contract_resource");
  for (const char* const name : {"", "a b", "a:0", "/a"})
    EXPECT_THROW(graph.group(name, {}), InvalidArgumentError) << name;
  EXPECT_THROW(graph.group("train", {}), AlreadyExistsError);
  const Output foreign = other.operation("train");
  EXPECT_THROW(graph.group("a", {&foreign, 1}), InvalidArgumentError);
  const Output init = graph.default_init_op();
  EXPECT_NO_THROW(graph.new_session("")->run(init));
}

TEST(TensorFlowGraphTest, KnowsWhichOperationsChangeVariables) {
  const Graph graph = import_golden("kinds");
  const auto changes = [&](const Fetches& fetches) {
    std::vector<Output> outputs;
    flatten(graph.resolve(fetches), outputs);
    return graph.changes_variables(outputs);
  };
  for (const Operation& operation :
       {graph.operation("change_resource"), graph.operation("change_reference"),
        graph.operation("hanging_change"), graph.operation("resource/Assign"),
        graph.operation("reference/Assign")})
    EXPECT_TRUE(changes(operation)) << operation.name();
  for (const char* const name :
       {"read_resource", "dequeue", "total", "looked_up", "reference/read"})
    EXPECT_FALSE(changes(name)) << name;
  // Variables that are not saved do not count.
  for (const char* const name : {"enqueue", "local/Assign"})
    EXPECT_FALSE(changes(graph.operation(name))) << name;
}

TEST(TensorFlowGraphTest, NamesTheFileInErrors) {
  EXPECT_THROW(Graph::import_meta_graph("/nowhere/x.meta"), NotFoundError);
  const std::string bytes = golden_bytes("contract_resource");
  EXPECT_THAT([&] { Graph::from_meta_graph(bytes.substr(0, bytes.size() - 3), "x.meta"); },
              ThrowsMessage<DataLossError>(HasSubstr("x.meta: ")));
}

TEST(TensorFlowGraphTest, NamesAnUnknownOperation) {
  const std::string bytes =
      replaced(golden_bytes("contract_resource"), "AssignAddVariableOp", "AssignOddVariableOp");
  EXPECT_THAT([&] { Graph::from_meta_graph(bytes, "x.meta"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("x.meta"), HasSubstr("AssignOddVariableOp"))));
}

TEST(TensorFlowGraphTest, NamesAMissingVariable) {
  // Only in the collection: the graph's own node is called "matrix".
  const std::string bytes = replaced(golden_bytes("contract_resource"), "matrix:0", "mutrix:0");
  EXPECT_THAT([&] { Graph::from_meta_graph(bytes, "x.meta"); },
              ThrowsMessage<NotFoundError>(HasSubstr("mutrix")));
}

TEST(TensorFlowGraphTest, ReportsAMissingGlobalStep) {
  const std::string bytes =
      replaced(golden_bytes("contract_resource"), "global_step:0", "glubal_step:0");
  // In no other collection, which would be reported first.
  const std::string alone = replaced(bytes, "\x0a\x09variables", "\x0a\x09voriables");
  EXPECT_THAT(
      [&] { Graph::from_meta_graph(alone, "x.meta"); },
      ThrowsMessage<NotFoundError>(AllOf(HasSubstr("x.meta: collection_def[\"global_step\"]"),
                                         HasSubstr("\"glubal_step\""))));
}

TEST(TensorFlowGraphTest, RejectsAGlobalStepThatIsNotAnInteger) {
  Graph graph;
  GraphBuilder build(graph);
  const Attributes attributes = {{"dtype", DType::kFloat}, {"shape", Shape{}}};
  const Output handle = build.op("VarHandleOp", "global_step", {}, attributes)[0];
  build.op("ReadVariableOp", "global_step/Read/ReadVariableOp", {handle},
           {{"dtype", DType::kFloat}});
  const Graph imported = Graph::from_meta_graph(*graph.meta_graph(), "x.meta");
  EXPECT_THAT([&] { imported.global_step(); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("\"global_step\""), HasSubstr("float32"))));
}

TEST(TensorFlowGraphTest, TheGlobalStepMustBeAVariable) {
  Graph graph;
  GraphBuilder build(graph);
  build.op("Identity", "global_step", {build.constant("one", int64_t{1})});
  const Graph imported = Graph::from_meta_graph(*graph.meta_graph(), "x.meta");
  EXPECT_FALSE(imported.global_step());
}

TEST(TensorFlowGraphTest, ImportsAGraphDefAlone) {
  const TempDirectory directory;
  const std::string path = directory / "graph.pb";
  replace_file(FileSystem::posix(), path,
               parse_meta_graph(golden_bytes("contract_resource"), "x").graph_def);
  Graph graph = Graph::import_graph_def(path);
  // It lists no variables: they are state that savers refuse to lose.
  EXPECT_TRUE(graph.variables().empty());
  EXPECT_EQ(graph.other_state().size(), 4U);
  const auto session = graph.new_session("");
  session->run(graph.operation("vector/Assign"));
  EXPECT_EQ(session->run("vector/Read/ReadVariableOp").tensor(), Tensor::from<int64_t>({7, 8}));
  EXPECT_THROW(Graph::from_graph_def("", "x"), InvalidArgumentError);
  EXPECT_THROW(Graph::from_graph_def("\xff", "x"), DataLossError);
  EXPECT_THROW(Graph::from_graph_def("node {\n}", "x"), UnimplementedError);
}

TEST(TensorFlowGraphTest, ReportsADeviceThatTheSessionDoesNotHave) {
  for (const char* const device : {"/device:GPU:0", "/job:ps/task:3"}) {
    Graph graph;
    GraphBuilder build(graph);
    build.op("NoOp", "placed", {}, {}, {.device = device});
    const auto session = graph.new_session("");
    EXPECT_THAT([&] { session->run("placed"); },
                ThrowsMessage<InvalidArgumentError>(AllOf(
                    HasSubstr("operation \"placed\": is on the device \"" + std::string(device)),
                    HasSubstr("which the session does not have: it has /job:localhost/"),
                    testing::Not(HasSubstr("Make sure")))));
  }
}

TEST(TensorFlowGraphTest, NamesTheLocationOfMissingTensors) {
  const std::string kinds = golden_bytes("kinds");
  const auto expect_place = [&](const std::string& from, const std::string& to,
                                const std::string& place) {
    const std::string bytes = replaced(kinds, from, to);
    ASSERT_NE(bytes, kinds) << from;
    EXPECT_THAT([&] { Graph::from_meta_graph(bytes, "x.meta"); },
                ThrowsMessage<NotFoundError>(
                    AllOf(HasSubstr("x.meta: collection_def[\"" + place + "\"]"), HasSubstr(to))));
  };
  // Names with an index are only in collections: the graph's own nodes have none.
  expect_place("total:0", "tutal:0", "summaries");
  expect_place("parts/part_1:0", "parts/port_1:0", "variables");
}

// As many elements as the whole, but some covered twice, others never.
TEST(TensorFlowGraphTest, RejectsPartsThatOverlap) {
  const std::string offset("\x1a\x02\x03\x00", 4);
  const std::string other_offset("\x1a\x02\x02\x00", 4);
  const std::string bytes = replaced(golden_bytes("kinds"), offset, other_offset);
  EXPECT_THAT([&] { Graph::from_meta_graph(bytes, "x.meta"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "the parts \"parts/part_0:0\" and \"parts/part_1:0\" of \"parts\" overlap")));
}

TEST(TensorFlowGraphTest, SuggestsSimilarNames) {
  const Graph graph = import_golden("kinds");
  EXPECT_THAT([&] { graph.output("change_resourc"); },
              ThrowsMessage<NotFoundError>(AllOf(HasSubstr("the closest are: change_resource, "),
                                                 testing::Not(HasSubstr("parts")))));
}

// Flips one bit of each byte, chosen by the seed.
TEST(TensorFlowGraphTest, SurvivesFlippedBytes) {
  const std::string good = golden_bytes("contract_reference");
  std::mt19937 random(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << random() % 8));
    try {
      Graph::from_meta_graph(bytes, "x");
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace crochet::tensorflow
