// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Cases of the inventory that need TensorFlow's own variables (graphs of make_monitored_graphs.py).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using tensorflow::assign;
using tensorflow::import_golden;
using tensorflow::initialized_session;
using tensorflow::value_of;
using tensorflow::variable_of;

class TensorFlowVariablesTest : public testing::Test {
 protected:
  SaverOptions in_memory() { return {.files = &files_}; }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
};

// BH-38: every 2 steps by hand, with a resource variable in a scope as the step: 1, 1, 3, 3, 5.
TEST_F(TensorFlowVariablesTest, SaveEveryNSteps) {
  tensorflow::Graph graph = import_golden("scoped");
  const Output init = graph.default_init_op();
  CheckpointSaverHook hook({.checkpoint_dir = "d",
                            .save_steps = 2,
                            .saver = std::make_shared<Saver>(in_memory()),
                            .clock = &clock_});
  hook.begin(graph);
  const auto session = graph.new_session("");
  session->run(init);
  std::vector<int64_t> newest;
  for (int i = 0; i < 5; ++i) {
    const SessionRunArgs train{.fetches = graph.operation("train")};
    StopState stop;
    SessionRunContext context(train, *session, std::nullopt, stop);
    EXPECT_FALSE(hook.before_run(context));
    session->run(train.fetches);
    hook.after_run(context, {});
    const auto prefix = latest_checkpoint(files_, "d");
    ASSERT_TRUE(prefix);
    newest.push_back(CheckpointReader(*prefix, files_).read("scope/global_step").scalar<int64_t>());
  }
  hook.on_error(nullptr);
  EXPECT_THAT(newest, ElementsAre(1, 1, 3, 3, 5));
}

// BH-60: every 8 of 30 runs; the summary is computed only then.
TEST_F(TensorFlowVariablesTest, SummariesAreComputedWhenTheyAreDue) {
  tensorflow::Graph graph = import_golden("scoped");
  const auto writer = std::make_shared<SummaryWriter>("runs", files_, clock_);
  MonitoredSession session(
      graph,
      {SummarySaverHook(
          {.save_steps = 8, .summary_writer = writer, .summary_op = "counted", .clock = &clock_})});
  for (int i = 0; i < 30; ++i) session.run(graph.operation("train"));
  session.close();
  std::vector<std::string> points;
  for (const std::string& path : event_files(files_, "runs"))
    for (const Event& event : read_event_file(files_, path))
      for (const SummaryValue& point : event.values)
        points.push_back(fmt::format("{} {} {}", point.tag, event.step, point.simple_value));
  EXPECT_THAT(points, ElementsAre("counted 1 1", "counted 9 2", "counted 17 3", "counted 25 4"));
}

// BH-41: the tag comes from the step's full name.
TEST_F(TensorFlowVariablesTest, NameTheCurveOfStepsPerSecond) {
  tensorflow::Graph graph = import_golden("scoped");
  const auto writer = std::make_shared<SummaryWriter>("runs", files_, clock_);
  MonitoredSession session(
      graph, {StepCounterHook({.every_n_steps = 1, .summary_writer = writer, .clock = &clock_})});
  for (int i = 0; i < 2; ++i) {
    clock_.advance(std::chrono::milliseconds(500));
    session.run(graph.operation("train"));
  }
  session.close();
  std::vector<std::string> tags;
  for (const std::string& path : event_files(files_, "runs"))
    for (const Event& event : read_event_file(files_, path))
      for (const SummaryValue& point : event.values) tags.push_back(point.tag);
  EXPECT_THAT(tags, ElementsAre("scope/global_step/sec"));
}

// SM-17: an initialiser that contains a loop is initialised, and does not recurse endlessly.
TEST_F(TensorFlowVariablesTest, InitializeWithALoop) {
  tensorflow::Graph graph = import_golden("scoped");
  MonitoredSession session(graph);
  const auto again = graph.new_session("");
  again->run(graph.collection(kInitOpCollection).at(0));
  EXPECT_EQ(value_of(*again, "looped").scalar<int32_t>(), 1 + 2 + 3);
  session.close();
}

// SV-2: saved and restored by the names of the variables; uninitialised ones are not saved.
TEST_F(TensorFlowVariablesTest, SaveAndRestore) {
  tensorflow::Graph graph = import_golden("parts_1");
  const Output init = graph.default_init_op();
  Saver saver(in_memory());
  {
    const auto session = graph.new_session("");
    EXPECT_THROW(saver.save(*session, "d/m", 0), FailedPreconditionError);
    session->run(init);
    assign(*session, "plain", Tensor::from<float>({30, 40}));
    EXPECT_EQ(saver.save(*session, "d/m", 0), "d/m-0");
  }
  EXPECT_EQ(CheckpointReader("d/m-0", files_).read("plain"), Tensor::from<float>({30, 40}));
  for (const bool initialize : {false, true}) {
    const auto session = graph.new_session("");
    if (initialize) session->run(init);
    saver.restore(*session, "d/m-0");
    EXPECT_EQ(value_of(*session, "plain"), Tensor::from<float>({30, 40}));
  }
}

// SV-34, SV-38: a variable saved in n parts is restored into n, into more or fewer, or as a whole.
TEST_F(TensorFlowVariablesTest, RestoreIntoOtherParts) {
  Tensor whole(DType::kFloat, {7, 2});
  float next = 0;
  for (float& element : whole.mutable_flat<float>()) element = ++next;
  for (const char* const from : {"parts_1", "parts_2", "parts_3"}) {
    tensorflow::Graph source = import_golden(from);
    const auto session = initialized_session(source);
    assign(*session, "wide", whole);
    Saver(in_memory()).save(*session, std::string("d/") + from, 1);
    for (const char* const to : {"parts_1", "parts_2", "parts_3"}) {
      tensorflow::Graph target = import_golden(to);
      const auto restored = target.new_session("");
      Saver(in_memory()).restore(*restored, std::string("d/") + from + "-1");
      EXPECT_EQ(value_of(*restored, "wide"), whole) << from << " into " << to;
    }
  }
}

// SV-46: names in the file that differ from the graph's, and a variable with another name.
TEST_F(TensorFlowVariablesTest, SaveUnderOtherNames) {
  tensorflow::Graph graph = import_golden("parts_1");
  const auto session = initialized_session(graph);
  SaverOptions renamed = in_memory();
  renamed.var_list =
      std::vector{SavedVariable(variable_of(graph, "plain")).as("save_prefix/plain")};
  Saver(renamed).save(*session, "d/m", 1);
  const auto other = graph.new_session("");
  Saver(renamed).restore(*other, "d/m-1");
  EXPECT_EQ(value_of(*other, "plain"), Tensor::from<float>({10, 20}));
  SaverOptions old_names = in_memory();
  old_names.var_list = std::vector{SavedVariable(variable_of(graph, "plain"))};
  EXPECT_THAT([&] { Saver(old_names).restore(*other, "d/m-1"); },
              ThrowsMessage<NotFoundError>(HasSubstr("plain")));
}

}  // namespace
}  // namespace crochet
