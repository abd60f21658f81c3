// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow's measurements of a run are in the profiles of ProfilerHook.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crochet/crochet.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;

class TensorFlowProfileTest : public testing::Test {
 protected:
  // Makes four steps; every other one is profiled.
  void train_with(ProfilerHookOptions options) {
    options.save_steps = 2;
    options.output_dir = "run";
    options.files = &files_;
    auto graph = tensorflow::import_golden("hooked");
    const Feeds feeds = {{graph.output("x"), Tensor::from<float>({1, 2})}};
    train({.graph = graph,
           .hooks = {StopAtStepHook({.last_step = 4}), ProfilerHook(options)},
           .files = &files_},
          [&](MonitoredSession& session) {
            while (!session.should_stop())
              session.run({graph.operation("train"), graph.output("loss")}, feeds);
          });
  }
  json trace(int step) {
    return json::parse(read_file(files_, fmt::format("run/timeline-{}.json", step)));
  }
  // The events of a phase, as named in Chrome's trace format.
  std::vector<json> events(int step, const std::string& phase) {
    const json whole = trace(step);
    std::vector<json> found;
    for (const json& event : whole["traceEvents"])
      if (event["ph"] == phase) found.push_back(event);
    return found;
  }
  std::vector<std::string> names(int step, const std::string& phase) {
    std::vector<std::string> found;
    for (const json& event : events(step, phase)) found.push_back(event["name"]);
    return found;
  }

  LogCapture log_;
  MemoryFileSystem files_;
};

TEST_F(TensorFlowProfileTest, ShowWhenEachOperationRan) {
  train_with({});
  for (const int step : {2, 4}) {
    EXPECT_THAT(names(step, "X"), IsSupersetOf({"mul", "loss"})) << step;
    for (const json& event : events(step, "X")) {
      EXPECT_GE(event["ts"], 0) << event;
      EXPECT_GE(event["dur"], 0) << event;
    }
  }
  EXPECT_FALSE(files_.exists("run/timeline-1.json"));
  EXPECT_FALSE(files_.exists("run/timeline-3.json"));
}

TEST_F(TensorFlowProfileTest, NameTheDevice) {
  train_with({});
  std::vector<std::string> devices;
  for (const json& event : events(2, "M"))
    if (event["name"] == "process_name") devices.push_back(event["args"]["name"]);
  EXPECT_THAT(devices, Contains(HasSubstr("CPU:0")));
}

TEST_F(TensorFlowProfileTest, ShowWhereValuesGo) {
  train_with({});
  // By name: from the operation that computed the value to the one that uses it.
  std::map<int, std::pair<std::string, double>> arrivals;
  for (const json& event : events(2, "f"))
    arrivals[event["id"]] = {event["name"], event["ts"].get<double>()};
  std::vector<std::pair<std::string, std::string>> arrows;
  for (const auto& [id, arrival] : arrivals)
    for (const json& event : events(2, "X"))
      if (event["ts"].get<double>() == arrival.second)
        arrows.emplace_back(arrival.first, event["name"]);
  EXPECT_THAT(arrows, Contains(Pair("mul", "loss")));
}

TEST_F(TensorFlowProfileTest, ShowMemory) {
  train_with({.show_memory = true});
  int64_t most = 0;
  for (const json& event : events(2, "C"))
    most = std::max(most, event["args"]["bytes"].get<int64_t>());
  EXPECT_GT(most, 0);
}

TEST_F(TensorFlowProfileTest, AreAmongTheEvents) {
  train_with({});
  std::vector<std::string> tags;
  for (const std::string& path : event_files(files_, "run"))
    for (const Event& event : read_event_file(files_, path))
      if (event.run_metadata) {
        tags.push_back(event.run_metadata->tag);
        EXPECT_THAT(event.run_metadata->run_metadata, HasSubstr("loss"));
      }
  EXPECT_THAT(tags, ElementsAre("step_2", "step_4"));
}

}  // namespace
}  // namespace crochet
