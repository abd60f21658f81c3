// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/traced_run.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace crochet::internal {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// read -> multiply -> update, the last on a device of its own.
RunMetadata example() {
  return {.start_time = 1'700'000'000.5,
          .operations = {{.name = "read",
                          .device = "/cpu",
                          .thread = 7,
                          .start = 0ns,
                          .duration = 1500ns,
                          .output_bytes = 100},
                         {.name = "multiply",
                          .inputs = {"read:1", "elsewhere"},
                          .device = "/cpu",
                          .thread = 8,
                          .start = 2us,
                          .duration = 3us,
                          .output_bytes = 40},
                         {.name = "update",
                          .inputs = {"multiply", "^read"},
                          .device = "/gpu",
                          .start = 6us,
                          .duration = 0ns}}};
}

json trace_of(const RunMetadata& run, const ChromeTraceOptions& options = {}) {
  return json::parse(chrome_trace(std::vector<TracedRun>{{.metadata = run}}, {}, options));
}

std::vector<json> events_of(const json& trace, const std::string& phase) {
  std::vector<json> events;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("ph") == phase) events.push_back(event);
  return events;
}

// Checks what the trace event format requires of every event of a kind.
void expect_valid(const json& trace) {
  ASSERT_TRUE(trace.at("traceEvents").is_array());
  for (const json& event : trace.at("traceEvents")) {
    const auto phase = event.at("ph").get<std::string>();
    EXPECT_TRUE(event.at("name").is_string()) << event;
    EXPECT_TRUE(event.at("pid").is_number_integer()) << event;
    const auto is_one_of = [&](const char* phases) {
      return std::string(phases).find(phase) != std::string::npos;
    };
    EXPECT_TRUE(is_one_of("M") || event.at("ts").is_number()) << event;
    EXPECT_TRUE(is_one_of("C") || event.at("tid").is_number_integer()) << event;
    EXPECT_TRUE(!is_one_of("X") || event.at("dur") >= 0) << event;
    EXPECT_TRUE(!is_one_of("sf") || event.at("id").is_number_integer()) << event;
    EXPECT_TRUE(!is_one_of("C") || event.at("args").at("bytes").is_number_integer()) << event;
    EXPECT_TRUE(!is_one_of("M") || event.at("args").at("name").is_string()) << event;
    EXPECT_TRUE(is_one_of("XMsfC")) << event;
  }
}

// Two runs and what happened around them.
TEST(ChromeTraceTest, HasAWindowOfRuns) {
  const std::vector<TracedRun> runs = {{.metadata = example(), .start = 10us},
                                       {.metadata = example(), .start = 30us}};
  const std::vector<TraceSpan> spans = {
      {.track = "training", .name = "StopAtStepHook", .start = 17us, .duration = 2us},
      {.track = "saves in runs", .name = "write x-1", .start = 5us, .duration = 40us},
      {.track = "training", .name = "SignalHook", .start = 19us, .duration = 1us}};
  const json trace = json::parse(chrome_trace(runs, spans));
  expect_valid(trace);
  EXPECT_NEAR(trace.at("otherData").at("start_time").get<double>(), 1'700'000'000.49999, 1e-6);
  const auto events = events_of(trace, "X");
  ASSERT_THAT(events, SizeIs(9));
  EXPECT_EQ(events[0].at("ts"), 10);
  EXPECT_EQ(events[3].at("ts"), 30);
  EXPECT_EQ(events[6], json::parse(R"({"ph": "X", "name": "StopAtStepHook", "cat": "crochet",
                                       "pid": 3, "tid": 1, "ts": 17.0, "dur": 2.0})"));
  EXPECT_EQ(events[7].at("tid"), 2);
  EXPECT_EQ(events[8].at("tid"), 1);
  std::set<int64_t> arrows;
  for (const json& arrow : events_of(trace, "s")) arrows.insert(arrow.at("id").get<int64_t>());
  EXPECT_THAT(arrows, SizeIs(6));
  std::vector<std::string> names;
  for (const json& name : events_of(trace, "M"))
    names.push_back(name.at("args").at("name").get<std::string>());
  EXPECT_THAT(names, ElementsAre("/cpu", "thread 7", "thread 8", "/gpu", "thread 0", "crochet",
                                 "training", "saves in runs"));
}

TEST(ChromeTraceTest, HasAnEventForEachOperation) {
  const json trace = trace_of(example());
  expect_valid(trace);
  EXPECT_EQ(trace.at("otherData").at("start_time"), 1'700'000'000.5);
  const auto operations = events_of(trace, "X");
  ASSERT_THAT(operations, SizeIs(3));
  EXPECT_EQ(operations[0],
            json::parse(R"({"ph": "X", "name": "read", "cat": "operation", "pid": 1, "tid": 7,
                            "ts": 0.0, "dur": 1.5,
                            "args": {"name": "read", "inputs": [], "output_bytes": 100}})"));
  EXPECT_EQ(operations[1].at("ts"), 2.0);
  EXPECT_EQ(operations[2].at("pid"), 2);
}

TEST(ChromeTraceTest, NamesDevicesAndThreads) {
  std::vector<std::string> names;
  for (const json& event : events_of(trace_of(example()), "M"))
    names.push_back(event.at("args").at("name"));
  EXPECT_THAT(names, ElementsAre("/cpu", "thread 7", "thread 8", "/gpu", "thread 0"));
}

TEST(ChromeTraceTest, ShowsWhereValuesGo) {
  const json trace = trace_of(example());
  std::vector<std::string> arrows;
  const auto starts = events_of(trace, "s"), ends = events_of(trace, "f");
  ASSERT_EQ(starts.size(), ends.size());
  for (size_t i = 0; i < starts.size(); ++i) {
    EXPECT_EQ(starts[i].at("id"), ends[i].at("id"));
    arrows.push_back(starts[i].at("name").get<std::string>() + " " + starts[i].at("ts").dump() +
                     " to " + ends[i].at("ts").dump());
  }
  // An arrow starts within its operation.
  EXPECT_THAT(arrows,
              ElementsAre("read 1.499 to 2.0", "multiply 4.999 to 6.0", "read 1.499 to 6.0"));
  EXPECT_THAT(events_of(trace_of(example(), {.show_dataflow = false}), "s"), IsEmpty());
}

TEST(ChromeTraceTest, ShowsTheBytesStillNeeded) {
  const json trace = trace_of(example(), {.show_memory = true});
  expect_valid(trace);
  std::vector<std::string> curve;
  for (const json& event : events_of(trace, "C"))
    if (event.at("pid") == 1)
      curve.push_back(event.at("ts").dump() + " " + event.at("args").at("bytes").dump());
  EXPECT_THAT(curve, ElementsAre("1.5 100", "5.0 140", "6.0 0"));
  EXPECT_THAT(events_of(trace_of(example()), "C"), IsEmpty());
}

TEST(ChromeTraceTest, IsValidForAnyNames) {
  RunMetadata run = example();
  run.operations[0].name = "a\"b\n\xff";
  run.operations[1].inputs = {"", ":", "^", ":0", "a:b", run.operations[0].name + ":0"};
  run.operations[2].device = "";
  const json trace = trace_of(run, {.show_memory = true});
  expect_valid(trace);
  EXPECT_THAT(events_of(trace, "s"), SizeIs(2));
  expect_valid(trace_of({}));
}

TEST(RunMetadataTest, HasTheBytesThatTensorFlowReads) {
  // Written with TensorFlow's protobuf classes, from the same numbers.
  const RunMetadata run{.start_time = 2,
                        .operations = {{.name = "read",
                                        .device = "/cpu",
                                        .thread = 7,
                                        .start = 1us,
                                        .duration = 2500ns,
                                        .output_bytes = 100}}};
  const std::string expected(
      "\x0a\x31\x0a\x2f\x0a\x04/cpu\x12\x27\x0a\x04read\x10\x81\x89\x7a\x20\x02\x28\x02\x32\x02\x10"
      "\x64\x42\x04read\x50\x07\x68\xe8\xaf\xd6\xb9\x07\x78\xc4\x13\x80\x01\xc4\x13",
      51);
  EXPECT_EQ(encode_run_metadata(run), expected);
}

TEST(RunMetadataTest, IsEmptyWithoutOperations) {
  EXPECT_EQ(encode_run_metadata({}), std::string("\x0a\x00", 2));
}

}  // namespace
}  // namespace crochet::internal
