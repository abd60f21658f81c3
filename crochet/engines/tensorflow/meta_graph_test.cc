// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/meta_graph.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using protozero::pbf_writer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

// Builds a MetaGraphDef, for contents that Python does not write.
class MetaGraphBytes {
 public:
  MetaGraphBytes() {
    pbf_writer graph_def(message_, 2);
    pbf_writer node(graph_def, 1);
    node.add_string(1, "x");
  }
  MetaGraphBytes& collection(const std::string& name, const std::string& message) {
    pbf_writer entry(message_, 4);
    entry.add_string(1, name);
    pbf_writer definition(entry, 2);
    pbf_writer list(definition, 2);
    list.add_bytes(1, message);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  pbf_writer message_{bytes_};
};

std::string variable_message(const std::string& slice = {}) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_string(1, "w:0");
  message.add_string(2, "w/Assign");
  message.add_string(3, "w/read:0");
  if (!slice.empty()) message.add_message(4, slice);
  return bytes;
}

std::string slice_message(int64_t full, int64_t offset, int64_t size) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_string(1, "whole");
  message.add_int64(2, full);  // Not packed, as by older writers.
  const int64_t offsets[] = {offset};
  message.add_packed_int64(3, std::begin(offsets), std::end(offsets));
  message.add_int64(4, size);
  return bytes;
}

TEST(MetaGraphTest, ReadsAFileOfPython) {
  const MetaGraph graph = parse_meta_graph(golden_bytes("kinds"), "kinds.meta");
  EXPECT_EQ(graph.tensorflow_version, "2.21.0");
  EXPECT_GT(graph.graph_def.size(), 1000);
  ASSERT_TRUE(graph.saver);
  EXPECT_EQ(graph.saver->filename_tensor_name, "save/Const:0");
  EXPECT_EQ(graph.saver->save_tensor_name, "save/control_dependency:0");
  EXPECT_EQ(graph.saver->restore_op_name, "save/restore_all");
  EXPECT_EQ(graph.saver->max_to_keep, 3);
  EXPECT_EQ(graph.saver->version, 2);
  EXPECT_FALSE(graph.saver->sharded);
  EXPECT_THAT(graph.numbers, UnorderedElementsAre(testing::Pair("numbers", ElementsAre(7, -8))));
  EXPECT_THAT(graph.nodes.at("summaries"), ElementsAre("total:0"));
  EXPECT_THAT(graph.nodes.at("table_initializer"), SizeIs(1));
}

TEST(MetaGraphTest, ReadsVariablesOfEveryKind) {
  const MetaGraph graph = parse_meta_graph(golden_bytes("kinds"), "kinds.meta");
  const auto find = [&](const char* collection, const std::string& name) {
    for (const VariableDef& variable : graph.variables.at(collection))
      if (variable.variable_name == name) return variable;
    throw NotFoundError(fmt::format("no {}", name));
  };
  const VariableDef resource = find("variables", "resource:0");
  EXPECT_TRUE(resource.is_resource);
  EXPECT_TRUE(resource.trainable);
  EXPECT_FALSE(resource.slice);
  EXPECT_EQ(resource.initializer_name, "resource/Assign");
  EXPECT_THAT(resource.snapshot_name, HasSubstr("resource/"));
  EXPECT_FALSE(find("variables", "reference:0").is_resource);
  EXPECT_FALSE(find("variables", "flag:0").trainable);
  EXPECT_TRUE(find("global_step", "global_step:0").is_resource);
  EXPECT_TRUE(find("local_variables", "local:0").is_resource);
  const VariableDef part = find("variables", "parts/part_1:0");
  ASSERT_TRUE(part.slice);
  EXPECT_EQ(part.slice->full_name, "parts");
  EXPECT_THAT(part.slice->full_shape, ElementsAre(5, 3));
  EXPECT_THAT(part.slice->offset, ElementsAre(3, 0));
  EXPECT_THAT(part.slice->shape, ElementsAre(2, 3));
}

TEST(MetaGraphTest, ReadsQueueRunners) {
  const MetaGraph graph = parse_meta_graph(golden_bytes("kinds"), "kinds.meta");
  ASSERT_THAT(graph.queue_runners, SizeIs(1));
  const QueueRunnerDef& runner = graph.queue_runners.front();
  EXPECT_EQ(runner.queue_name, "queue");
  EXPECT_THAT(runner.enqueue_op_names, ElementsAre("enqueue"));
  EXPECT_NE(runner.close_op_name, "");
  EXPECT_NE(runner.cancel_op_name, "");
  EXPECT_THAT(runner.queue_closed_exception_types,
              ElementsAre(Code::kOutOfRange, Code::kCancelled));
}

TEST(MetaGraphTest, ReadsTheCollectionsOfAFinalizedScaffold) {
  const MetaGraph graph = parse_meta_graph(golden_bytes("scaffold"), "scaffold.meta");
  for (const char* const name : {"init_op", "ready_op", "ready_for_local_init_op", "local_init_op"})
    EXPECT_THAT(graph.nodes.at(name), SizeIs(1)) << name;
  EXPECT_THAT(graph.savers, SizeIs(1));
}

TEST(MetaGraphTest, ReadsNumbersThatAreNotPacked) {
  const MetaGraph graph = parse_meta_graph(
      MetaGraphBytes().collection("variables", variable_message(slice_message(7, 3, 4))).bytes(),
      "x");
  const SaveSlice& slice = *graph.variables.at("variables").at(0).slice;
  EXPECT_THAT(slice.full_shape, ElementsAre(7));
  EXPECT_THAT(slice.offset, ElementsAre(3));
  EXPECT_THAT(slice.shape, ElementsAre(4));
}

TEST(MetaGraphTest, RejectsPartsOutsideTheWhole) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  const int64_t wrong[][3] = {{7, 3, 5}, {7, -1, 4}, {7, 3, -1}, {-7, 0, 0}, {7, kLargest, 4}};
  for (const auto& [full, offset, size] : wrong) {
    const std::string bytes =
        MetaGraphBytes()
            .collection("variables", variable_message(slice_message(full, offset, size)))
            .bytes();
    EXPECT_THAT([&] { parse_meta_graph(bytes, "x.meta"); },
                ThrowsMessage<InvalidArgumentError>(
                    HasSubstr("x.meta: collection_def[\"variables\"][0]: the part \"whole\"")));
  }
}

TEST(MetaGraphTest, RejectsVariablesThatLackNames) {
  const std::string bytes = MetaGraphBytes().collection("global_step", "").bytes();
  EXPECT_THAT([&] { parse_meta_graph(bytes, "x.meta"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("collection_def[\"global_step\"][0]")));
}

TEST(MetaGraphTest, ReportsTheTextForm) {
  for (const char* const text :
       {"meta_info_def {\n  tags: \"serve\"\n}\n", "\ngraph_def {\n}", "graph_def: <>",
        "node {\n  name: \"a\"\n}", "versions { producer: 1 }"})
    EXPECT_THAT(
        [&] { parse_meta_graph(text, "x.pbtxt"); },
        ThrowsMessage<UnimplementedError>(HasSubstr("x.pbtxt: this is a graph in text form")))
        << text;
}

TEST(MetaGraphTest, RejectsAFileWithoutAGraph) {
  EXPECT_THAT(
      [] { parse_meta_graph("", "x.meta"); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("x.meta: the MetaGraphDef has no graph_def")));
}

TEST(MetaGraphTest, NamesTheLocationOfTheDamage) {
  const std::string bytes = MetaGraphBytes().collection("savers", "\x0a\x7f").bytes();
  EXPECT_THAT([&] { parse_meta_graph(bytes, "x.meta"); },
              ThrowsMessage<DataLossError>(AllOf(
                  HasSubstr("x.meta: collection_def[\"savers\"][0]: "), HasSubstr("damaged"))));
}

// An entry of a map: a name and a message.
std::string entry_message(const std::string& name, const std::string& message) {
  std::string bytes;
  pbf_writer entry(bytes);
  entry.add_string(1, name);
  entry.add_message(2, message);
  return bytes;
}

// The additional fields of a SavedModel: tags, one signature with a sparse input, and an asset.
std::string saved_graph(const std::string& output_info) {
  std::string bytes = MetaGraphBytes().bytes();
  pbf_writer message(bytes);
  {
    pbf_writer info(message, 1);
    info.add_string(4, "serve");
    info.add_string(4, "gpu");
    info.add_string(5, "2.21.0");
  }
  std::string sparse, input_info, signature;
  {
    pbf_writer writer(sparse);
    writer.add_string(1, "v:0");
    writer.add_string(2, "i:0");
    writer.add_string(3, "s:0");
  }
  pbf_writer(input_info).add_message(4, sparse);
  pbf_writer writer(signature);
  writer.add_message(1, entry_message("x", input_info));
  writer.add_message(2, entry_message("y", output_info));
  writer.add_string(3, "predict");
  message.add_message(5, entry_message("serving_default", signature));
  pbf_writer asset(message, 6);
  asset.add_message(1, std::string("\x0a\x03"
                                   "p:0"));
  asset.add_string(2, "words.txt");
  return bytes;
}

TEST(MetaGraphTest, ReadsTheFieldsOfASavedModel) {
  const MetaGraph graph = parse_meta_graph(saved_graph("\x0a\x03y:0"), "x");
  EXPECT_EQ(graph.tensorflow_version, "2.21.0");
  EXPECT_THAT(graph.tags, ElementsAre("serve", "gpu"));
  ASSERT_THAT(graph.signatures, ElementsAre(Key("serving_default")));
  const SignatureDef& signature = graph.signatures.at("serving_default");
  EXPECT_EQ(signature.method_name, "predict");
  EXPECT_THAT(signature.inputs,
              ElementsAre(testing::Pair("x/dense_shape", "s:0"), testing::Pair("x/indices", "i:0"),
                          testing::Pair("x/values", "v:0")));
  EXPECT_THAT(signature.outputs, ElementsAre(testing::Pair("y", "y:0")));
  ASSERT_THAT(graph.assets, SizeIs(1));
  EXPECT_EQ(graph.assets[0].tensor_name, "p:0");
  EXPECT_EQ(graph.assets[0].filename, "words.txt");
}

// With one byte changed it may be another graph, or throw a typed error.
void expect_typed_errors_for_flips(const std::string& good) {
  for_each_flip(good, [](const std::string& bytes) {
    try {
      parse_meta_graph(bytes, "x");
    } catch (const DataLossError&) {
    } catch (const InvalidArgumentError&) {
    }
  });
}

TEST(MetaGraphTest, NamesTheLocationOfTheDamageInASignature) {
  EXPECT_THAT([] { parse_meta_graph(saved_graph("\x0a\x7f"), "x.pb"); },
              ThrowsMessage<DataLossError>(
                  HasSubstr("x.pb: signature_def[\"serving_default\"].outputs[\"y\"]: damaged")));
  expect_typed_errors_for_flips(saved_graph("\x0a\x03y:0"));
}

TEST(MetaGraphTest, KeepsUnknownMessages) {
  const MetaGraph graph =
      parse_meta_graph(MetaGraphBytes().collection("while_context", "\xff").bytes(), "x");
  EXPECT_THAT(graph.messages.at("while_context"), ElementsAre("\xff"));
}

TEST(MetaGraphTest, ThrowsOnlyTypedErrorsForFlippedBytes) {
  expect_typed_errors_for_flips(golden_bytes("contract_resource"));
}

// The offsets at which fields of the file end: a file that is cut there is still valid.
std::set<size_t> ends_of_fields(const std::string& bytes) {
  std::set<size_t> ends = {0};
  protozero::pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) {
    message.skip();
    ends.insert(static_cast<size_t>(message.data().data() - bytes.data()));
  }
  return ends;
}

TEST(MetaGraphTest, DetectsEveryCut) {
  const std::string good = golden_bytes("contract_resource");
  const std::set<size_t> ends = ends_of_fields(good);
  for (size_t length = 1; length < good.size(); ++length) {
    if (ends.contains(length)) continue;
    EXPECT_THROW(parse_meta_graph(good.substr(0, length), "x"), DataLossError) << length;
  }
}

}  // namespace
}  // namespace crochet::tensorflow
