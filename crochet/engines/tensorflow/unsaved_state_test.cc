// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// State of a graph other than its variables: it is saved, or saving is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/engines/tensorflow/internal/graph_saver.h"
#include "crochet/engines/tensorflow/saved_model.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

std::vector<std::string> names_of(const std::vector<OtherState>& states) {
  std::vector<std::string> names;
  for (const OtherState& state : states) names.push_back(state.name);
  return names;
}

class UnsavedStateTest : public testing::Test {
 protected:
  std::shared_ptr<Scaffold> scaffold_with(SaverOptions options) {
    auto scaffold = std::make_shared<Scaffold>();
    scaffold->saver = std::make_shared<Saver>(std::move(options));
    return scaffold;
  }
  // Runs "train" until `step`; `use` is called in the session at the end.
  RunReport train_until(int64_t step, Graph& graph, const std::shared_ptr<Scaffold>& scaffold = {},
                        const std::function<void(MonitoredSession&)>& use = {}) {
    return crochet::train({.graph = graph,
                           .checkpoint_dir = run_,
                           .scaffold = scaffold,
                           .hooks = {StopAtStepHook({.last_step = step})},
                           .save_checkpoint_steps = 1},
                          [&](MonitoredSession& session) {
                            while (!session.should_stop()) session.run(graph.operation("train"));
                            if (use) use(session);
                          });
  }
  std::vector<std::string> checkpoints() {
    if (!FileSystem::posix().exists(run_)) return {};
    return list_checkpoints(FileSystem::posix(), run_, "model.ckpt");
  }

  LogCapture log_;
  TempDirectory directory_;
  const std::string run_ = directory_ / "run";
};

TEST_F(UnsavedStateTest, ResumesATableSavedByTheGraphsSaver) {
  for (const int64_t step : {2, 4, 5}) {
    Graph graph = import_golden("table");
    EXPECT_EQ(train_until(step, graph).last_step, step);
    EXPECT_TRUE(log_.contains("written by the graph's own operations"));
  }
  const CheckpointReader reader(run_ + "/model.ckpt-5");
  EXPECT_EQ(reader.read("rows-keys").num_elements(), 5);

  Graph graph = import_golden("table");
  const auto session = graph.new_session("");
  Saver().restore(*session, run_ + "/model.ckpt-5");
  EXPECT_EQ(session->run("size").scalar<int64_t>(), 5);
  for (int64_t key = 0; key < 5; ++key)
    EXPECT_EQ(session->run("row", {{graph.output("key"), Tensor::scalar(key)}}).scalar<int64_t>(),
              key * key);
}

TEST_F(UnsavedStateTest, ResumesAnIteratorSavedByTheGraphsSaver) {
  for (const int64_t step : {2, 4, 5}) {
    Graph graph = import_golden("iterator");
    EXPECT_EQ(train_until(step, graph).last_step, step);
  }
  EXPECT_EQ(CheckpointReader(run_ + "/model.ckpt-5").read("total"), Tensor::scalar<int64_t>(15));
}

// Its initializer must run before it is restored, and not afterwards.
TEST_F(UnsavedStateTest, ResumesAnIteratorThatIsInitializedByEachSession) {
  for (const int64_t step : {2, 4, 5}) {
    Graph graph = import_golden("initialized_iterator");
    EXPECT_EQ(train_until(step, graph).last_step, step);
  }
  EXPECT_EQ(CheckpointReader(run_ + "/model.ckpt-5").read("total"), Tensor::scalar<int64_t>(15));
}

TEST_F(UnsavedStateTest, RefusesToStartWithATableThatCrochetCannotSave) {
  for (const SaverOptions& options :
       {SaverOptions{.writer = StateWriter::kCrochet}, SaverOptions{.num_shards = 2},
        SaverOptions{.format = CheckpointFormat::kSafetensors}}) {
    Graph graph = import_golden("table");
    EXPECT_THAT([&] { train_until(2, graph, scaffold_with(options)); },
                ThrowsMessage<FailedPreconditionError>(
                    AllOf(HasSubstr("\"rows\" (MutableHashTableV2)"), HasSubstr("kGraph"),
                          HasSubstr("UnsavedState::kWarn"))));
    EXPECT_THAT(checkpoints(), IsEmpty());
  }
}

TEST_F(UnsavedStateTest, SaversOfAnyKindRefuseToOmitATable) {
  Graph graph = import_golden("table");
  const Output init = graph.default_init_op();
  const auto session = graph.new_session("");
  session->run(init);
  const std::string path = directory_ / "m";
  Saver saver({.writer = StateWriter::kCrochet});
  EXPECT_THROW(saver.save(*session, path), FailedPreconditionError);
  EXPECT_THROW(saver.save_async(*session, path, 1), FailedPreconditionError);
  EXPECT_THROW(saver.snapshot(*session), FailedPreconditionError);
  // A var_list is an explicit choice, and so is a filter that rejects the state.
  EXPECT_NO_THROW(
      Saver({.var_list = std::vector<SavedVariable>{"global_step"}}).save(*session, path));
  EXPECT_NO_THROW(Saver({.filter = [](std::string_view name) {
                    return !name.starts_with("rows");
                  }}).save(*session, path));
  EXPECT_THROW(Saver({.filter = [](std::string_view) { return true; }}).save(*session, path),
               FailedPreconditionError);
}

TEST_F(UnsavedStateTest, OmitsStateOnRequest) {
  Graph graph = import_golden("table");
  const RunReport report = train_until(
      2, graph,
      scaffold_with({.writer = StateWriter::kCrochet, .unsaved_state = UnsavedState::kWarn}));
  EXPECT_EQ(report.failed_saves, 0);
  EXPECT_TRUE(log_.contains("lack state of the graph"));
  EXPECT_TRUE(log_.contains("\"rows\" (MutableHashTableV2)"));
  EXPECT_THAT(checkpoints(), Contains(run_ + "/model.ckpt-2"));
}

// Its variables are in no collection, and a function saves them.
class TrainedModelTest : public UnsavedStateTest {
 protected:
  struct End {
    RunReport report;
    float total = 0;
  };
  End train(int64_t step, const SaverOptions& options) {
    SavedModel model(std::string(TENSORFLOW_GRAPHS) + "/module_training");
    const Signature& signature = model.signature("train");
    const auto scaffold = scaffold_with(options);
    scaffold->init_fn = [&](crochet::Session& session) { model.restore(session); };
    End end;
    end.report = crochet::train({.graph = model.graph(),
                                 .checkpoint_dir = run_,
                                 .scaffold = scaffold,
                                 .hooks = {StopAtStepHook({.last_step = step})},
                                 .save_checkpoint_steps = 1},
                                [&](MonitoredSession& session) {
                                  while (!session.should_stop())
                                    end.total =
                                        session
                                            .run(signature.outputs.at("total"),
                                                 {{signature.inputs.at("x"), Tensor::scalar(0.5f)}})
                                            .scalar<float>();
                                });
    return end;
  }
};

TEST_F(TrainedModelTest, IsRefusedByDefault) {
  const auto is_refused = ThrowsMessage<FailedPreconditionError>(
      AllOf(HasSubstr("\"global_step\" (VarHandleOp)"), HasSubstr("\"total\" (VarHandleOp)"),
            HasSubstr("writer = StateWriter::kGraph"), HasSubstr("UnsavedState::kWarn")));
  EXPECT_THAT([&] { train(2, {.allow_empty = true}); }, is_refused);
  EXPECT_THAT([&] { train(2, {}); }, is_refused);
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(TrainedModelTest, CountsNoCheckpointIfItsStateIsOmitted) {
  const RunReport report =
      train(2, {.unsaved_state = UnsavedState::kWarn, .allow_empty = true}).report;
  EXPECT_EQ(report.last_step, 2);
  EXPECT_EQ(report.saves, 0);
  EXPECT_EQ(report.failed_saves, 0);
  EXPECT_EQ(report.saving.saved, 0);
  EXPECT_THAT(to_string(report), Not(HasSubstr("checkpoint")));
  EXPECT_TRUE(log_.contains("lack state of the graph"));
  EXPECT_TRUE(log_.contains("nothing is saved"));
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(TrainedModelTest, ResumesFromACheckpointOfItsOwnFunction) {
  const SaverOptions by_graph = {.writer = StateWriter::kGraph};
  EXPECT_EQ(train(2, by_graph).report.saves, 3);
  const End second = train(5, by_graph);
  EXPECT_EQ(second.report.resumed_from, 2);
  EXPECT_EQ(second.report.last_step, 5);
  EXPECT_EQ(second.total, 2.5f);
  EXPECT_THAT(checkpoints(), Contains(run_ + "/model.ckpt-5"));
}

TEST_F(UnsavedStateTest, ListsStateThatASessionCanLose) {
  // A static table is filled by each session, a local variable initialised.
  EXPECT_THAT(names_of(import_golden("kinds").other_state()), ElementsAre("queue"));
  EXPECT_THAT(names_of(import_golden("table").other_state()),
              ElementsAre("rows", "rows-keys", "rows-values"));
  EXPECT_THAT(names_of(import_golden("dataset").other_state()), ElementsAre("IteratorV2"));
  for (const char* const name : {"saving", "scaffold", "savers", "contract_resource",
                                 "contract_reference", "control_flow", "scatter", "hooked"})
    EXPECT_THAT(names_of(import_golden(name).other_state()), IsEmpty()) << name;
}

TEST_F(UnsavedStateTest, FindsAddedState) {
  Graph graph;
  GraphBuilder build(graph);
  EXPECT_THAT(graph.other_state(), IsEmpty());
  build.op("MutableDenseHashTableV2", "dense",
           {build.constant("empty", int64_t{-1}), build.constant("deleted", int64_t{-2})},
           {{"value_dtype", DType::kFloat}});
  build.op("FIFOQueueV2", "queue", {}, {{"component_types", {DType::kFloat}}});
  build.op("IteratorV2", "iterator", {},
           {{"shared_name", "i"},
            {"container", ""},
            {"output_types", {DType::kFloat}},
            {"output_shapes", {Shape()}}});
  build.op("TextLineReaderV2", "reader", {});
  build.op("Stage", "stage", {{build.constant("x", 1.0f)}});
  build.op("VarHandleOp", "hidden", {}, {{"dtype", DType::kFloat}, {"shape", Shape()}});
  build.op("HashTableV2", "constants", {},
           {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kInt64}});
  build.variable("known", Tensor::scalar(1.0f));
  EXPECT_THAT(names_of(graph.other_state()),
              UnorderedElementsAre("dense", "queue", "iterator", "reader", "stage", "hidden"));
}

// A saver's keys are the names of its variables.
TEST_F(UnsavedStateTest, WritesTheKeysOfTheGraphsSaver) {
  Graph graph = import_golden("renamed");
  EXPECT_THAT(graph.other_state(), IsEmpty());
  train_until(2, graph);
  const CheckpointReader reader(run_ + "/model.ckpt-2");
  EXPECT_EQ(reader.read("model/w"), Tensor::from<float>({3, 4}));
  EXPECT_EQ(reader.read("model/r"), Tensor::from<float>({5}));
  EXPECT_EQ(reader.read("model/parts"), Tensor::from<float>({3, 4, 5}, {3, 1}));
  // Variables that the saver omits are state, too.
  EXPECT_EQ(reader.read("plain"), Tensor::scalar(4.0f));
  // The graph's own operations read it.
  Graph again = import_golden("renamed");
  const auto session = again.new_session("");
  internal::GraphSaver by_graph(again);
  static_cast<crochet::internal::StateOperations&>(by_graph).restore(*session,
                                                                     run_ + "/model.ckpt-2");
  EXPECT_EQ(session->run("w/Read/ReadVariableOp").tensor(), Tensor::from<float>({3, 4}));
  // And crochet reads their files.
  by_graph.save(*session, directory_ / "theirs");
  Graph third = import_golden("renamed");
  const auto third_session = third.new_session("");
  Saver({}, {.allow_missing = true}).restore(*third_session, directory_ / "theirs");
  EXPECT_EQ(third_session->run("w/Read/ReadVariableOp").tensor(), Tensor::from<float>({3, 4}));
}

// The key of "w" is the name of another variable, which the graph's saver omits.
TEST_F(UnsavedStateTest, RejectsKeysThatAreNamesOfOtherVariables) {
  Graph graph = import_golden("averages");
  EXPECT_THAT(names_of(graph.other_state()), ElementsAre("w/ExponentialMovingAverage"));
  EXPECT_THAT([&] { train_until(2, graph); },
              ThrowsMessage<FailedPreconditionError>(
                  HasSubstr("\"w/ExponentialMovingAverage\" (entry of the graph's saver)")));
  Graph same = import_golden("averages");
  EXPECT_THAT([&] { train_until(2, same, scaffold_with({.writer = StateWriter::kGraph})); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("(variable)")));
}

}  // namespace
}  // namespace crochet::tensorflow
