// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/task_placement.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow::internal {
namespace {

using protozero::pbf_writer;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

struct TestNode {
  std::string name;
  std::string device = {};
  std::vector<std::string> with = {};  // Nodes it is colocated with.
  std::string op = "NoOp";
  std::vector<std::string> inputs = {};
};

std::string serialize(const TestNode& node) {
  std::string bytes;
  pbf_writer message(bytes);
  message.add_string(1, node.name);
  message.add_string(2, node.op);
  for (const std::string& input : node.inputs) message.add_string(3, input);
  if (!node.device.empty()) message.add_string(4, node.device);
  if (node.with.empty()) return bytes;
  pbf_writer entry(message, 5);
  entry.add_string(1, "_class");
  pbf_writer value(entry, 2);
  pbf_writer list(value, 1);
  for (const std::string& other : node.with) list.add_string(2, "loc:@" + other);
  return bytes;
}

std::string graph(const std::vector<TestNode>& nodes) {
  std::string bytes;
  pbf_writer message(bytes);
  for (const TestNode& node : nodes) message.add_message(1, serialize(node));
  return bytes;
}

// The device of each node in the fields `number` of a message.
std::map<std::string, std::string> devices(const std::string& bytes, uint32_t number = 1) {
  std::map<std::string, std::string> result;
  protozero::pbf_reader message(bytes);
  while (message.next(number)) {
    std::string name;
    std::string device;
    protozero::pbf_reader node = message.get_message();
    while (node.next()) {
      if (node.tag() == 1)
        name = node.get_string();
      else if (node.tag() == 4)
        device = node.get_string();
      else
        node.skip();
    }
    result[name] = device;
  }
  return result;
}

std::map<std::string, std::string> placed(const std::vector<TestNode>& nodes) {
  return devices(place_on_task(graph(nodes), parse_task("/job:worker/task:1"), {}, "x.meta"));
}

TEST(TaskPlacementTest, ParsesTasks) {
  EXPECT_EQ(parse_task("/job:worker/task:1"), (DeviceName{.job = "worker", .task = 1}));
  EXPECT_EQ(parse_task("/job:w/replica:0/task:0"),
            (DeviceName{.job = "w", .replica = 0, .task = 0}));
  for (const char* const text :
       {"", "worker", "/job:worker", "/task:1", "/job:worker/task:1/cpu:0", "/job:worker/task:x"})
    EXPECT_THAT([&] { parse_task(text); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("is not a task")));
}

TEST(TaskPlacementTest, MovesOperationsOnAnyTaskOfTheJob) {
  EXPECT_EQ(placed({{"a", "/job:worker/task:0"},
                    {"b", "/job:worker/replica:0/task:2/device:CPU:1"},
                    {"c", "/job:worker"}}),
            (std::map<std::string, std::string>{{"a", "/job:worker/task:1"},
                                                {"b", "/job:worker/replica:0/task:1/device:CPU:1"},
                                                {"c", "/job:worker/task:1"}}));
}

// Compares parts of names, not substrings.
TEST(TaskPlacementTest, DoesNotMoveOtherJobs) {
  const std::map<std::string, std::string> expected = {
      {"a", "/job:ps/task:0"}, {"b", "/job:workers/task:0"}, {"c", "/task:0/job:worker_task"}};
  EXPECT_EQ(placed({{"a", "/job:ps/task:0"},
                    {"b", "/job:workers/task:0"},
                    {"c", "/task:0/job:worker_task"}}),
            expected);
}

TEST(TaskPlacementTest, PlacesOperationsWithoutAJob) {
  EXPECT_EQ(placed({{"a"}, {"b", "/device:CPU:0"}, {"c", "/task:0"}}),
            (std::map<std::string, std::string>{{"a", "/job:worker/task:1"},
                                                {"b", "/job:worker/task:1/device:CPU:0"},
                                                {"c", "/job:worker/task:1"}}));
}

TEST(TaskPlacementTest, DoesNotPlaceWhatIsColocatedWithAnotherJob) {
  const auto found = placed({{"variable", "/job:ps/task:0", {"variable"}},
                             {"slot", "", {"variable"}},
                             {"slots_reader", "", {"slot"}},
                             {"last_reader", "/device:CPU:0", {"slots_reader"}}});
  EXPECT_EQ(found.at("slot"), "");
  EXPECT_EQ(found.at("slots_reader"), "");
  EXPECT_EQ(found.at("last_reader"), "/device:CPU:0");
}

// As with local variables: each is in the group of its own name.
TEST(TaskPlacementTest, PlacesWhatIsColocatedWithTheTask) {
  const auto found = placed({{"local", "", {"local"}},
                             {"reader", "", {"local"}},
                             {"moved", "/job:worker/task:0"},
                             {"follower", "", {"moved"}}});
  for (const auto& [name, device] : found) EXPECT_EQ(device, "/job:worker/task:1") << name;
}

// Operations on variables run where the variables are; operations on their results do not.
TEST(TaskPlacementTest, DoesNotPlaceOperationsOnVariablesOfAnotherJob) {
  const auto found = placed({{"variable", "/job:ps/task:0", {}, "VarHandleOp"},
                             {"queue", "/job:ps/task:0", {}, "FIFOQueueV2"},
                             {"constant", "/job:ps/task:0", {}, "Const"},
                             {"read", "", {}, "ReadVariableOp", {"variable"}},
                             {"take", "", {}, "QueueDequeueV2", {"queue:0"}},
                             {"sum", "", {}, "AddV2", {"read", "constant"}},
                             {"after", "", {}, "NoOp", {"^variable"}}});
  EXPECT_EQ(found.at("read"), "");
  EXPECT_EQ(found.at("take"), "");
  EXPECT_EQ(found.at("sum"), "/job:worker/task:1");
  EXPECT_EQ(found.at("after"), "/job:worker/task:1");
}

TEST(TaskPlacementTest, SpreadsVariablesInTheirOrder) {
  const std::string bytes = graph({{"a", "", {"a"}, "VarHandleOp"},
                                   {"a/slot", "", {"a"}, "VarHandleOp"},
                                   {"b", "", {"b"}, "VariableV2"},
                                   {"placed", "/job:ps/task:7", {}, "VarHandleOp"},
                                   {"c", "/device:CPU:0", {}, "VarHandleOp"},
                                   {"local", "", {}, "VarHandleOp"},
                                   {"read", "", {}, "ReadVariableOp", {"a"}},
                                   {"sum", "", {}, "AddV2", {"read"}}});
  const VariablePlacement spread = {.num_tasks = 2,
                                    .variables = {"a", "a/slot", "b", "placed", "c"}};
  EXPECT_EQ(devices(place_on_task(bytes, parse_task("/job:worker/task:1"), spread, "x")),
            (std::map<std::string, std::string>{{"a", "/job:ps/task:0"},
                                                {"a/slot", ""},
                                                {"b", "/job:ps/task:1"},
                                                {"placed", "/job:ps/task:7"},
                                                {"c", "/job:ps/task:0"},
                                                {"local", "/job:worker/task:1"},
                                                {"read", ""},
                                                {"sum", "/job:worker/task:1"}}));
}

TEST(TaskPlacementTest, InFunctionsMovesOnlyOperationsOfTheJob) {
  std::string function;
  pbf_writer body(function);
  body.add_string(1, "signature");
  for (const TestNode& node :
       {TestNode{"a", "/job:worker/task:0"}, TestNode{"b"}, TestNode{"c", "/job:ps/task:0"}})
    body.add_message(3, serialize(node));
  std::string library;
  pbf_writer(library).add_message(1, function);
  std::string bytes = graph({{"call"}});
  pbf_writer(bytes).add_message(2, library);

  const std::string result = place_on_task(bytes, parse_task("/job:worker/task:1"), {}, "x");
  protozero::pbf_reader message(result);
  ASSERT_TRUE(message.next(2));
  protozero::pbf_reader functions = message.get_message();
  ASSERT_TRUE(functions.next(1));
  const auto view = functions.get_view();
  const std::string found(view.data(), view.size());
  EXPECT_EQ(devices(found, 3),
            (std::map<std::string, std::string>{
                {"a", "/job:worker/task:1"}, {"b", ""}, {"c", "/job:ps/task:0"}}));
  EXPECT_THAT(found, HasSubstr("signature"));
}

TEST(TaskPlacementTest, KeepsAllOtherFields) {
  const std::string golden = parse_meta_graph(golden_bytes("kinds"), "kinds").graph_def;
  const std::string result = place_on_task(golden, parse_task("/job:worker/task:1"), {}, "kinds");
  for (const auto& [name, device] : devices(result))
    EXPECT_THAT(device, StartsWith("/job:worker/task:1")) << name;
  EXPECT_EQ(devices(result).size(), devices(golden).size());
  // It is idempotent.
  EXPECT_EQ(place_on_task(result, parse_task("/job:worker/task:1"), {}, "kinds"), result);
  EXPECT_GT(result.size(), golden.size());
}

TEST(TaskPlacementTest, LeavesInvalidDevicesToTheImport) {
  EXPECT_EQ(placed({{"a", "nowhere"}}).at("a"), "nowhere");
}

TEST(TaskPlacementTest, ThrowsOnlyTypedErrorsForFlippedBytesAndCuts) {
  const std::string good = graph({{"v", "/job:ps", {"v"}}, {"w", "/job:worker", {"v"}}, {"x"}});
  const auto try_bytes = [](const std::string& bytes) {
    try {
      place_on_task(bytes, parse_task("/job:worker/task:1"), {}, "x");
    } catch (const DataLossError&) {
      // The expected error.
    }
  };
  for (size_t i = 0; i < good.size(); ++i) try_bytes(good.substr(0, i));
  for_each_flip(good, try_bytes);
  EXPECT_THROW(place_on_task("\x0a\x7f", parse_task("/job:worker/task:1"), {}, "x"), DataLossError);
}

TEST(TaskPlacementTest, ImportPlacesAGraphOnATask) {
  EXPECT_THROW(Graph::import_meta_graph(golden_path("kinds"), {.task = "worker"}),
               InvalidArgumentError);
  EXPECT_THROW(Graph::import_meta_graph(golden_path("kinds"), {.ps_tasks = 1}),
               InvalidArgumentError);
  EXPECT_THROW(Graph::import_meta_graph(golden_path("kinds"),
                                        {.task = "/job:worker/task:0", .ps_tasks = -1}),
               InvalidArgumentError);
  const auto graph =
      Graph::import_meta_graph(golden_path("kinds"), {.task = "/job:localhost/task:0"});
  EXPECT_FALSE(graph.variables().empty());
}

}  // namespace
}  // namespace crochet::tensorflow::internal
