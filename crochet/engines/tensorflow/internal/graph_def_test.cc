// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/graph_def.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow::internal {
namespace {

using protozero::pbf_writer;
using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string node(const std::string& name, const std::string& op, const std::string& device = {},
                 const std::string& shared_name = {}) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_string(1, name);
  message.add_string(2, op);
  if (!device.empty()) message.add_string(4, device);
  if (!shared_name.empty()) {
    pbf_writer entry(message, 5);
    entry.add_string(1, "shared_name");
    pbf_writer value(entry, 2);
    value.add_string(2, shared_name);
  }
  return bytes;
}

std::string graph(const std::vector<std::string>& nodes) {
  std::string bytes;
  pbf_writer message(bytes);
  for (const std::string& node : nodes) message.add_message(1, node);
  return bytes;
}

TEST(GraphDefTest, RejectsFunctionsOfPython) {
  for (const char* const type : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) {
    const auto is_refused =
        ThrowsMessage<UnimplementedError>(HasSubstr("x: operation \"a\" (" + std::string(type)));
    EXPECT_THAT([&] { prepare_graph_def(graph({node("a", type)}), "", "x"); }, is_refused);
    // In the body of a function, too.
    std::string in_function;
    {
      pbf_writer message(in_function);
      pbf_writer library(message, 2);
      pbf_writer function(library, 1);
      function.add_message(3, node("a", type));
    }
    EXPECT_THAT([&] { prepare_graph_def(in_function, "", "x"); }, is_refused);
  }
  EXPECT_NO_THROW(prepare_graph_def(graph({node("a", "NoOp")}), "", "x"));
}

TEST(GraphDefTest, KnowsLegalNames) {
  for (const char* const name : {"a", "A/b", ".x", "7", "a/b_c-d.e\\f", "while/body>1", "_send"})
    EXPECT_TRUE(is_legal_operation_name(name)) << name;
  for (const char* const name : {"", "/a", "a b", "a:0", "^a", "a\n", "-a", "\xc3\xa4"})
    EXPECT_FALSE(is_legal_operation_name(name)) << name;
}

TEST(GraphDefTest, KnowsLegalDevices) {
  for (const char* const device :
       {"", "/job:ps", "/job:worker/task:0", "/job:ps/replica:0/task:12/device:CPU:0",
        "/device:CPU:*", "/device:GPU", "/cpu:0", "/job:*", "/task:*"})
    EXPECT_TRUE(is_legal_device(device)) << device;
  for (const char* const device : {"job:ps", "/", "/job:", "/job:7", "/task:x", "/nonsense:0",
                                   "/device:", "/device:CPU:x", "/job:ps/", "CPU", "/cpu"})
    EXPECT_FALSE(is_legal_device(device)) << device;
}

TEST(GraphDefTest, RejectsIllegalNamesAndDevices) {
  EXPECT_THAT(
      [] { prepare_graph_def(graph({node("a b", "NoOp")}), "", "x.meta"); },
      ThrowsMessage<InvalidArgumentError>("x.meta: \"a b\" is not a valid name for an operation"));
  EXPECT_THAT([] { prepare_graph_def(graph({node("a", "NoOp", "/nowhere")}), "", "x.meta"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"/nowhere\" of operation \"a\"")));
}

TEST(GraphDefTest, RejectsTwoVariablesWithoutASharedName) {
  const std::string a = node("a", "VarHandleOp");
  const std::string b = node("b", "VarHandleOp");
  EXPECT_NO_THROW(prepare_graph_def(graph({a, node("b", "VarHandleOp", "", "b")}), "", "x"));
  EXPECT_THAT(
      [&] {
        prepare_graph_def(graph({a, b}), "", "x.meta");
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("\"a\" and \"b\" have no shared_name")));
}

TEST(GraphDefTest, DoesNotChangeAGraphWithoutAStep) {
  const std::string bytes = graph({node("a", "NoOp"), node("b", "NoOp", "/cpu:0")});
  EXPECT_EQ(prepare_graph_def(bytes, "global_step", "x"), bytes);
}

// The inputs of the node of this name.
std::vector<std::string> inputs_of(const std::string& graph_def, const std::string& name) {
  std::vector<std::string> inputs;
  protozero::pbf_reader graph(graph_def.data(), graph_def.size());
  while (graph.next(1)) {
    protozero::pbf_reader node = graph.get_message();
    std::string found;
    std::vector<std::string> its_inputs;
    while (node.next()) {
      if (node.tag() == 1)
        found = node.get_string();
      else if (node.tag() == 3)
        its_inputs.push_back(node.get_string());
      else
        node.skip();
    }
    if (found == name) inputs = its_inputs;
  }
  return inputs;
}

TEST(GraphDefTest, ReadsTheStepBeforeItIsIncremented) {
  for (const auto& [name, adding] : {std::pair{"contract_resource", "AssignAddVariableOp_1"},
                                     std::pair{"contract_reference", "add"}}) {
    const std::string graph_def = prepare_graph_def(
        parse_meta_graph(golden_bytes(name), name).graph_def, "global_step", name);
    EXPECT_THAT(inputs_of(graph_def, "crochet/global_step"), ElementsAre("global_step"));
    EXPECT_THAT(inputs_of(graph_def, adding),
                ElementsAre("global_step", _, "^crochet/global_step"));
    // Initialising it does not need a value.
    EXPECT_THAT(inputs_of(graph_def, "global_step/Assign"), ElementsAre("global_step", _));
  }
}

TEST(GraphDefTest, RecognizesAnExistingReadOfTheStep) {
  const std::string once = prepare_graph_def(
      parse_meta_graph(golden_bytes("contract_resource"), "x").graph_def, "global_step", "x");
  EXPECT_EQ(prepare_graph_def(once, "global_step", "x"), once);
  for (const char* const type : {"NoOp", "ReadVariableOp"})
    EXPECT_THAT(
        [&] {
          prepare_graph_def(graph({node("crochet/global_step", type)}), "global_step", "x.meta");
        },
        ThrowsMessage<InvalidArgumentError>(HasSubstr("does not read the global step")));
}

TEST(GraphDefTest, NamesTheLocationOfTheDamage) {
  const std::string bytes = graph({node("a", "NoOp"), "\x0a\x7f"});
  EXPECT_THAT([&] { prepare_graph_def(bytes, "", "x.meta"); },
              ThrowsMessage<DataLossError>(HasSubstr("x.meta: graph_def.node[1]: ")));
  EXPECT_THROW(prepare_graph_def("\x0a\x7f", "", "x.meta"), DataLossError);
}

TEST(GraphDefTest, ThrowsOnlyTypedErrorsForFlippedBytesAndCuts) {
  const std::string good =
      parse_meta_graph(golden_bytes("contract_resource"), "contract_resource.meta").graph_def;
  const auto try_bytes = [](const std::string& bytes) {
    try {
      prepare_graph_def(bytes, "global_step", "x");
    } catch (const DataLossError&) {
    } catch (const InvalidArgumentError&) {
    }
  };
  for (size_t i = 0; i < good.size(); ++i) try_bytes(good.substr(0, i));
  for_each_flip(good, try_bytes);
}

}  // namespace
}  // namespace crochet::tensorflow::internal
