// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/saved_model.h"

#include <filesystem>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/testing/temp_directory.h"
#include "tests/tensorflow/test_graphs.h"

namespace crochet::tensorflow {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

// The models of tests/golden/tensorflow/make_graphs.py.
std::string model_path(const std::string& name) {
  return std::string(TENSORFLOW_GRAPHS) + "/" + name;
}

// A copy of a model, for damaging it.
class ModelCopy {
 public:
  ModelCopy() {
    std::filesystem::copy(model_path("saved_model"), path(),
                          std::filesystem::copy_options::recursive);
  }
  std::string path() const { return directory_ / "model"; }
  std::string bytes() const { return read_file(FileSystem::posix(), path() + "/saved_model.pb"); }
  void put(const std::string& bytes) const {
    replace_file(FileSystem::posix(), path() + "/saved_model.pb", bytes);
  }
  void remove(const std::string& name) const { std::filesystem::remove(path() + "/" + name); }

 private:
  TempDirectory directory_;
};

TEST(SavedModelTest, RunsItsSignatures) {
  SavedModel model(model_path("saved_model"));
  EXPECT_THAT(model.signatures(), UnorderedElementsAre(Key("serving_default"), Key("lookup")));
  const auto session = model.new_session();
  const Signature& serve = model.signature("serving_default");
  EXPECT_EQ(serve.method_name, "tensorflow/serving/predict");
  EXPECT_EQ(session
                ->run(serve.outputs.at("y"),
                      {{serve.inputs.at("x"), Tensor::from<float>({1, 10}, {1, 2})}})
                .tensor(),
            Tensor::from<float>({41, 52, 63}, {1, 3}));
  // Looks up words of an asset file.
  const Signature& lookup = model.signature("lookup");
  EXPECT_EQ(lookup.method_name, "look_up");
  EXPECT_EQ(session
                ->run(lookup.outputs.at("numbers"),
                      {{lookup.inputs.at("words"), Tensor::from({"dog", "fish", "cat"})}})
                .tensor(),
            Tensor::from<int64_t>({1, -1, 0}));
}

// Initialisers of tables find the files even if no feeds can be given.
TEST(SavedModelTest, TrainsWithAssetsInAnyDirectory) {
  const ModelCopy copy;
  replace_file(FileSystem::posix(), copy.path() + "/assets/vocabulary.txt", "fish\nowl\n");
  SavedModel model(copy.path());
  const Signature& lookup = model.signature("lookup");
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->init_fn = [&](crochet::Session& session) { model.restore(session); };
  scaffold->local_init_op = model.init_op();
  Tensor numbers;
  crochet::train({.graph = model.graph(), .scaffold = scaffold}, [&](MonitoredSession& session) {
    numbers = session
                  .run(lookup.outputs.at("numbers"),
                       {{lookup.inputs.at("words"), Tensor::from({"owl", "fish", "cat"})}})
                  .tensor();
  });
  EXPECT_EQ(numbers, Tensor::from<int64_t>({1, 0, -1}));
}

TEST(SavedModelTest, ReadsAModelOfSimpleSave) {
  SavedModel model(model_path("simple_model"));
  const auto session = model.new_session();
  const Signature& serve = model.signature("serving_default");
  EXPECT_FALSE(model.init_op());
  EXPECT_EQ(session->run(serve.outputs.at("y"), {{serve.inputs.at("x"), Tensor::from<float>({2})}})
                .tensor(),
            Tensor::from<float>({6}));
}

// Its variables are not those of the graph; its own operation restores them.
TEST(SavedModelTest, RunsAModuleOfTensorFlow2) {
  SavedModel model(model_path("module_model"));
  EXPECT_THAT(model.graph().variables(), IsEmpty());
  const auto session = model.new_session();
  const Signature& serve = model.signature("serving_default");
  EXPECT_EQ(session->run(serve.outputs.at("y"), {{serve.inputs.at("x"), Tensor::from<float>({2})}})
                .tensor(),
            Tensor::from<float>({5}));
}

TEST(SavedModelTest, IsRestoredByCrochetToo) {
  SavedModel model(model_path("saved_model"));
  const auto session = model.graph().new_session("");
  Saver().restore(*session, model.variables_prefix());
  const auto by_itself = model.new_session();
  const std::vector<Variable> variables = model.graph().variables();
  ASSERT_THAT(variables, testing::SizeIs(2));
  const Snapshot first = session->snapshot(variables);
  const Snapshot second = by_itself->snapshot(variables);
  for (size_t i = 0; i < variables.size(); ++i)
    EXPECT_EQ(first.tensors()[i].tensor, second.tensors()[i].tensor) << variables[i].name();
}

TEST(SavedModelTest, SelectsTheGraphByTags) {
  EXPECT_THAT(SavedModel(model_path("saved_model"), {.tags = {"train", "cpu"}}).signatures(),
              IsEmpty());
  const std::vector<std::vector<std::string>> others = {{"train"}, {"serve", "cpu"}, {}};
  for (const std::vector<std::string>& tags : others)
    EXPECT_THAT([&] { SavedModel(model_path("saved_model"), {.tags = tags}); },
                ThrowsMessage<NotFoundError>(AllOf(HasSubstr("saved_model.pb"),
                                                   HasSubstr("there are: {serve}, {cpu, train}"))));
}

TEST(SavedModelTest, ListsTheSignatures) {
  const SavedModel model(model_path("saved_model"));
  EXPECT_THAT([&] { model.signature("serve"); },
              ThrowsMessage<NotFoundError>(HasSubstr("it has: lookup, serving_default")));
}

TEST(SavedModelTest, NamesMissingFiles) {
  EXPECT_THAT([] { SavedModel("/nowhere"); },
              ThrowsMessage<NotFoundError>(HasSubstr("/nowhere/saved_model.pb")));
  const ModelCopy text;
  std::filesystem::rename(text.path() + "/saved_model.pb", text.path() + "/saved_model.pbtxt");
  EXPECT_THROW(SavedModel(text.path()), UnimplementedError);

  const ModelCopy asset;
  asset.remove("assets/vocabulary.txt");
  EXPECT_THAT(
      [&] { SavedModel(asset.path()); },
      ThrowsMessage<NotFoundError>(AllOf(HasSubstr("vocabulary.txt"), HasSubstr("assets[0]"))));

  const ModelCopy variables;
  variables.remove("variables/variables.index");
  SavedModel model(variables.path());
  EXPECT_THAT([&] { model.new_session(); },
              ThrowsMessage<NotFoundError>(HasSubstr("variables.index")));
}

TEST(SavedModelTest, NamesTheLocationOfTheDamage) {
  const ModelCopy copy;
  const std::string data = copy.path() + "/variables/variables.data-00000-of-00001";
  std::string bytes = read_file(FileSystem::posix(), data);
  bytes[3] ^= 1;
  replace_file(FileSystem::posix(), data, bytes);
  SavedModel model(copy.path());
  EXPECT_THROW(model.new_session(), DataLossError);

  const std::string good = copy.bytes();
  copy.put("\x12\x7f");
  EXPECT_THAT([&] { SavedModel(copy.path()); },
              ThrowsMessage<DataLossError>(HasSubstr("saved_model.pb")));
  copy.put(replaced(good, "numbers:0", "nombers:0"));
  EXPECT_THAT([&] { SavedModel(copy.path()); },
              ThrowsMessage<NotFoundError>(
                  AllOf(HasSubstr("saved_model.pb: meta_graphs[0]"),
                        HasSubstr("signature_def[\"lookup\"].outputs[\"numbers\"]"))));
  copy.put(replaced(good, "vocabulary.txt", "../../../x.txt"));
  EXPECT_THAT([&] { SavedModel(copy.path()); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("is outside of the model")));
}

// TensorFlow does not check the shapes of resource variables.
TEST(SavedModelTest, RejectsVariablesOfAnotherShape) {
  const ModelCopy copy;
  const std::string prefix = copy.path() + "/variables/variables";
  const CheckpointReader reader(prefix);
  const Tensor parts = reader.read("parts");
  const auto writer =
      new_checkpoint_writer(CheckpointFormat::kTensorBundle, FileSystem::posix(), prefix);
  writer->add("w", Tensor::zeros<float>({3, 2}));
  writer->add("parts", parts);
  writer->finish();
  SavedModel model(copy.path());
  EXPECT_THAT([&] { model.new_session(); },
              ThrowsMessage<InvalidArgumentError>(AllOf(HasSubstr("\"w\""), HasSubstr("[3,2]"))));
}

TEST(SavedModelTest, ThrowsTypedErrorsForFlippedBytesAndCuts) {
  const ModelCopy copy;
  const std::string good = copy.bytes();
  std::mt19937 random(static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed()));
  for (int i = 0; i < 60; ++i) {
    const size_t at = random() % good.size();
    std::string bytes = good.substr(0, i % 3 == 0 ? at : good.size());
    if (i % 3 != 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    copy.put(bytes);
    try {
      SavedModel model(copy.path());
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace crochet::tensorflow
