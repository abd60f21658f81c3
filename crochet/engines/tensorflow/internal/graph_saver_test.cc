// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/graph_saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow::internal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

// ConfigProto.device_count = {"CPU": 2}.
const SessionConfig kTwoDevices = {.serialized = std::string("\x0a\x07\x0a\x03"
                                                             "CPU\x10\x02")};

class GraphSaverTest : public testing::Test {
 protected:
  GraphSaverTest() { session_->run(init_); }

  std::unique_ptr<crochet::Session> new_session() { return graph_.new_session("", kTwoDevices); }
  std::vector<NamedTensor> values(crochet::Session& session) {
    return session.snapshot(graph_.variables()).tensors();
  }
  void expect_same_values(crochet::Session& a, crochet::Session& b) {
    const auto first = values(a);
    const auto second = values(b);
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_EQ(first[i].tensor, second[i].tensor) << first[i].name;
  }
  void train() { session_->run(graph_.operation("train")); }
  std::vector<std::string> names() { return FileSystem::posix().list(directory_.path()); }
  SaverDef definition() { return *graph_.definition().saver; }

  LogCapture log_;
  TempDirectory directory_;
  Graph graph_ = import_golden("saving");
  Output init_ = graph_.default_init_op();
  std::unique_ptr<crochet::Session> session_ = new_session();
  const std::string path_ = directory_ / "model.ckpt";
  Saver by_graph_{{.writer = StateWriter::kGraph, .max_to_keep = 2}};
  Saver by_crochet_{{.writer = StateWriter::kCrochet}};
};

TEST_F(GraphSaverTest, SavesWithOneFilePerDevice) {
  train();
  by_graph_.save(*session_, path_, 1);
  EXPECT_THAT(names(), ElementsAre("checkpoint", "model.ckpt-1.data-00000-of-00002",
                                   "model.ckpt-1.data-00001-of-00002", "model.ckpt-1.index",
                                   "model.ckpt-1.json", "model.ckpt-1.meta"));
  const CheckpointReader reader(path_ + "-1");
  reader.verify();
  EXPECT_GT(reader.tensors().at("parts").num_slices, 1);
  for (const auto& [name, tensor] : values(*session_)) EXPECT_EQ(reader.read(name), tensor) << name;
}

TEST_F(GraphSaverTest, RestoresWhatItSaved) {
  train();
  by_graph_.save(*session_, path_, 1);
  const auto session = new_session();
  by_graph_.restore(*session, path_ + "-1");
  expect_same_values(*session, *session_);
}

TEST_F(GraphSaverTest, ExchangesCheckpointsWithCrochet) {
  train();
  by_crochet_.save(*session_, path_, 1);
  by_graph_.save(*session_, path_, 2);
  const auto by_graph = new_session();
  by_graph_.restore(*by_graph, path_ + "-1");
  expect_same_values(*by_graph, *session_);
  const auto by_crochet = new_session();
  by_crochet_.restore(*by_crochet, path_ + "-2");
  expect_same_values(*by_crochet, *session_);
}

TEST_F(GraphSaverTest, SavesARunAndResumesIt) {
  const auto run_until = [&](int64_t step) {
    const auto scaffold = std::make_shared<Scaffold>();
    scaffold->saver =
        std::make_shared<Saver>(SaverOptions{.writer = StateWriter::kGraph, .max_to_keep = 2});
    Graph graph = import_golden("saving");
    return crochet::train({.graph = graph,
                           .checkpoint_dir = directory_ / "run",
                           .scaffold = scaffold,
                           .hooks = {StopAtStepHook({.last_step = step})},
                           .save_checkpoint_steps = 2,
                           .config = kTwoDevices},
                          [&](MonitoredSession& session) {
                            while (!session.should_stop()) session.run(graph.operation("train"));
                          });
  };
  EXPECT_EQ(run_until(5).last_step, 5);
  const RunReport second = run_until(8);
  EXPECT_EQ(second.resumed_from, 5);
  EXPECT_EQ(second.last_step, 8);
  EXPECT_EQ(second.failed_saves, 0);
  const CheckpointReader reader((directory_ / "run") + "/model.ckpt-8");
  EXPECT_EQ(reader.read("b"), Tensor::from<int64_t>({15, 16}));
  EXPECT_THAT(list_checkpoints(FileSystem::posix(), directory_ / "run", "model.ckpt"), SizeIs(2));
}

TEST_F(GraphSaverTest, KnowsWhatItSaves) {
  const GraphSaver saver(graph_);
  for (const Variable& variable : graph_.variables())
    EXPECT_TRUE(saver.saves(variable.name())) << variable.name();
  EXPECT_FALSE(saver.saves("parts/part_0"));
}

TEST_F(GraphSaverTest, IsPreferredInACluster) {
  ScriptedGraph cluster;
  GraphSaver saver(graph_);
  EXPECT_TRUE(saver.preferred_for(*cluster.new_session("grpc://10.0.0.1:2222")));
  EXPECT_FALSE(saver.preferred_for(*session_));
}

TEST_F(GraphSaverTest, RejectsTheV1Format) {
  for (const int64_t version : {0, 1}) {
    SaverDef old = definition();
    old.version = version;
    GraphSaver saver(graph_, old);
    EXPECT_THAT([&] { saver.save(*session_, path_); },
                ThrowsMessage<UnimplementedError>(HasSubstr("V1 format")));
    EXPECT_THROW(static_cast<crochet::internal::StateOperations&>(saver).restore(*session_, path_),
                 UnimplementedError);
    // Unless it was requested explicitly, crochet saves.
    ScriptedGraph cluster;
    EXPECT_FALSE(saver.preferred_for(*cluster.new_session("grpc://10.0.0.1:2222")));
    EXPECT_TRUE(log_.contains("crochet saves"));
  }
  // A V1 checkpoint is a single file.
  replace_file(FileSystem::posix(), path_, "old");
  EXPECT_THROW(by_graph_.restore(*session_, path_), UnimplementedError);
}

TEST_F(GraphSaverTest, NamesWhatTheGraphLacks) {
  const auto save_by = [&](SaverDef definition) {
    GraphSaver(graph_, std::move(definition)).save(*session_, path_);
  };
  SaverDef wrong = definition();
  wrong.filename_tensor_name = "save/Canst:0";
  EXPECT_THAT([&] { save_by(wrong); },
              ThrowsMessage<NotFoundError>(
                  AllOf(HasSubstr("saver_def.filename_tensor_name"), HasSubstr("save/Const"))));
  wrong = definition();
  wrong.save_tensor_name = "nothing:0";
  EXPECT_THAT([&] { save_by(wrong); },
              ThrowsMessage<NotFoundError>(HasSubstr("saver_def.save_tensor_name")));
  wrong = definition();
  wrong.restore_op_name = "nothing";
  EXPECT_THAT([&] { save_by(wrong); },
              ThrowsMessage<NotFoundError>(HasSubstr("saver_def.restore_op_name")));
  wrong = definition();
  wrong.filename_tensor_name = "b:0";
  EXPECT_THAT([&] { save_by(wrong); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("expected a string")));
}

TEST(GraphSaverOfCollectionTest, UsesTheOnlyOne) {
  InitializedGraph it("scaffold");
  EXPECT_FALSE(it.graph.definition().saver);
  const TempDirectory directory;
  Saver({.writer = StateWriter::kGraph}).save(*it.session, directory / "m", 0);
  EXPECT_EQ(CheckpointReader(directory / "m-0").read("w"), Tensor::from<float>({1, 2}));
}

// SV-50: each of several savers saves and restores its own, even after another import.
TEST(GraphSaverOfCollectionTest, EachRestoresItsOwn) {
  InitializedGraph it("savers");
  const TempDirectory directory;
  EXPECT_THROW(Saver({.writer = StateWriter::kGraph}).save(*it.session, directory / "m", 0),
               FailedPreconditionError);
  it.session->run(it.graph.operation("grow"));
  GraphBuilder(it.graph).group("added", {});
  Graph again = Graph::from_meta_graph(*it.graph.meta_graph(), "kept");
  const auto session = again.new_session("");
  const std::vector<std::string> names = {"v0", "v1"};
  ASSERT_THAT(again.definition().savers, SizeIs(names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string prefix = directory / names[i];
    GraphSaver(it.graph, it.graph.definition().savers[i]).save(*it.session, prefix);
    EXPECT_THAT(CheckpointReader(prefix).tensors(),
                ElementsAre(testing::Pair(names[i], testing::_)));
    GraphSaver saver(again, again.definition().savers[i]);
    static_cast<crochet::internal::StateOperations&>(saver).restore(*session, prefix);
  }
  for (const std::string& name : names)
    EXPECT_EQ(session->run(again.output(name + "/Read/ReadVariableOp")).tensor(), it.value(name));
  EXPECT_EQ(it.value("v1"), Tensor::scalar(21.0f));
}

TEST_F(GraphSaverTest, ReportsAFileInPlaceOfTheDirectory) {
  replace_file(FileSystem::posix(), directory_ / "file", "");
  GraphSaver saver(graph_);
  EXPECT_THROW(saver.save(*session_, (directory_ / "file") + "/model"), Error);
  EXPECT_THROW(static_cast<crochet::internal::StateOperations&>(saver).restore(*session_,
                                                                               directory_ / "none"),
               NotFoundError);
}

TEST_F(GraphSaverTest, DetectsDamage) {
  by_graph_.save(*session_, path_, 1);
  const std::string data = path_ + "-1.data-00000-of-00002";
  const std::string good = read_file(FileSystem::posix(), data);
  std::string bad = good;
  bad[bad.size() / 2] ^= 1;
  replace_file(FileSystem::posix(), data, bad);
  EXPECT_THROW(by_graph_.restore(*session_, path_ + "-1"), DataLossError);
  FileSystem::posix().remove(data);
  EXPECT_THROW(by_graph_.restore(*session_, path_ + "-1"), DataLossError);
}

// TensorFlow's operations give a resource variable whatever shape the file has.
TEST_F(GraphSaverTest, RejectsACheckpointOfAnotherShape) {
  const auto before = values(*session_);
  const std::map<std::string, Tensor> others = {{"a", Tensor::zeros<float>({2, 2})},
                                                {"b", Tensor::zeros<int64_t>({3})},
                                                {"parts", Tensor::zeros<float>({6, 3})},
                                                {"global_step", Tensor::zeros<int64_t>({1})}};
  for (const auto& [other, value] : others) {
    const std::string path = fmt::format("{}-{}", path_, 7);
    const auto writer =
        new_checkpoint_writer(CheckpointFormat::kTensorBundle, FileSystem::posix(), path);
    for (const auto& [name, tensor] : before) writer->add(name, name == other ? value : tensor);
    writer->finish();
    Shape shape;
    for (const Variable& variable : graph_.variables())
      if (variable.name() == other) shape = variable.shape();
    const auto is_told = ThrowsMessage<InvalidArgumentError>(
        AllOf(HasSubstr("model.ckpt-7 does not fit"),
              HasSubstr(fmt::format("\"{}\" is {} {} in the checkpoint and {} {} in the program",
                                    other, value.dtype(), value.shape(), value.dtype(), shape))));
    for (Saver* const saver : {&by_graph_, &by_crochet_}) {
      EXPECT_THAT([&] { saver->restore(*session_, path); }, is_told) << other;
      EXPECT_THAT([&] { saver->restore_newest(*session_, directory_.path(), "model.ckpt"); },
                  is_told)
          << other;
    }
    const auto after = values(*session_);
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i].tensor, before[i].tensor);
  }
}

// Copied into the whole, it would exceed its end.
TEST_F(GraphSaverTest, DetectsAPartThatChangedItsShape) {
  session_->run(graph_.operation("grow_part"));
  EXPECT_THAT([&] { values(*session_); },
              ThrowsMessage<FailedPreconditionError>(
                  "the part \"parts/part_1:0\" of a variable is [4,3] now, expected [2,3]"));
}

TEST_F(GraphSaverTest, RejectsACheckpointOfAnotherGraph) {
  InitializedGraph other("contract_resource");
  Saver().save(*other.session, path_, 3);
  for (Saver* const saver : {&by_graph_, &by_crochet_})
    EXPECT_THAT([&] { saver->restore(*session_, path_ + "-3"); },
                ThrowsMessage<Error>(AllOf(HasSubstr("model.ckpt-3 does not fit this program"),
                                           HasSubstr("Key words not found"))));
}

}  // namespace
}  // namespace crochet::tensorflow::internal
