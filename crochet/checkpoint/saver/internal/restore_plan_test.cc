// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/restore_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/raw_bundle.h"
#include "tests/support/raw_torch.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Keeps any state; rejects it if `refuses` is set.
class Keeper final : public Saveable {
 public:
  TensorMap save() const override { return state; }
  void restore(const TensorMap& given) override {
    if (refuses) throw InvalidArgumentError("not mine");
    state = given;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : state) keys.push_back(key);
    return keys;
  }

  TensorMap state;
  bool refuses = false;
};

class RestorePlanTest : public testing::Test {
 protected:
  // Writes the checkpoint "ckpt" with zeros under these names.
  void write(const std::vector<std::pair<std::string, Tensor>>& tensors) {
    BundleWriter writer(files_, "ckpt");
    for (const auto& [name, value] : tensors) writer.add(name, value);
    writer.finish();
  }
  std::shared_ptr<Keeper> add_object(const std::string& name, bool optional = false) {
    auto keeper = std::make_shared<Keeper>();
    graph_.add_saveable({.name = name, .object = keeper, .optional = optional});
    return keeper;
  }
  RestoreReport restore(const RestoreOptions& options = {}) {
    if (!session_) session_ = graph_.new_session("");
    const CheckpointReader reader("ckpt", files_);
    return restore_state(*session_, reader, {}, {.options = options});
  }
  Tensor value(const Variable& variable) {
    return session_->snapshot({&variable, 1}).tensors()[0].tensor;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  ScriptedGraph graph_{{.counts_steps = false}};
  std::unique_ptr<Session> session_;
  const Tensor one_ = Tensor::scalar(1.0f);
};

TEST_F(RestorePlanTest, RestoresStringsOfObjects) {
  const auto object = add_object("vocabulary");
  const Tensor words = Tensor::from({"cat", "", "dog"});
  write({{"vocabulary/words", words}, {"vocabulary/unknown", Tensor::scalar("?")}});
  restore();
  EXPECT_EQ(object->state.at("words"), words);
  EXPECT_EQ(object->state.at("unknown"), Tensor::scalar("?"));
}

TEST_F(RestorePlanTest, ListsAllMismatchesAndChangesNothing) {
  const Variable fits = graph_.variable("fits", Tensor::scalar(7.0f));
  graph_.variable("missing", Tensor::zeros<float>({2}));
  graph_.variable("other_shape", Tensor::zeros<float>({2, 3}));
  graph_.variable("other_type", Tensor::zeros<float>({2}));
  const auto object = add_object("missing_object");
  write({{"fits", one_},
         {"other_shape", Tensor::zeros<float>({3, 2})},
         {"other_type", Tensor::zeros<double>({2})},
         {"surplus", Tensor::zeros<int32_t>({4})}});
  EXPECT_THAT([&] { restore(); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("Key missing not found in checkpoint"),
                        HasSubstr("\"other_shape\" is float32 [3,2] in the checkpoint and float32 "
                                  "[2,3] in the program"),
                        HasSubstr("\"other_type\" is float64 [2]"),
                        HasSubstr("Key missing_object not found in checkpoint"),
                        HasSubstr("\"surplus\" (int32 [4]) is not in the program"))));
  EXPECT_EQ(value(fits), Tensor::scalar(7.0f));
}

TEST_F(RestorePlanTest, ReadsObjectsBeforeItOverwritesVariables) {
  const Variable w = graph_.variable("w", Tensor::scalar(7.0f));
  const auto object = add_object("object");
  write({{"object", Tensor::from<float>(std::vector<float>(100, 1))}, {"w", one_}});
  std::string data = read_file(files_, "ckpt.data-00000-of-00001");
  data[10] ^= 1;
  files_.create("ckpt.data-00000-of-00001")->append(data);
  EXPECT_THROW(restore(), DataLossError);
  EXPECT_EQ(value(w), Tensor::scalar(7.0f));
}

TEST_F(RestorePlanTest, PassesAnObjectItsEntriesByKey) {
  const auto object = add_object("batches");
  write({{"batches", one_}, {"batches/position", one_}, {"batches/rng/state", one_}});
  restore();
  EXPECT_THAT(object->keys(), ElementsAre("", "position", "rng/state"));
}

TEST_F(RestorePlanTest, PassesAnEntryToTheObjectWithTheLongestName) {
  const auto outer = add_object("model");
  const auto inner = add_object("model/optimizer");
  write({{"model/epoch", one_}, {"model/optimizer", one_}, {"model/optimizer/rate", one_}});
  restore();
  EXPECT_THAT(outer->keys(), ElementsAre("epoch"));
  EXPECT_THAT(inner->keys(), ElementsAre("", "rate"));
}

TEST_F(RestorePlanTest, DoesNotPassVariablesToAnObject) {
  const Variable w = graph_.variable("model/w", Tensor::scalar(7.0f));
  const auto object = add_object("model");
  write({{"model/epoch", one_}, {"model/w", one_}});
  restore();
  EXPECT_THAT(object->keys(), ElementsAre("epoch"));
  EXPECT_EQ(value(w), one_);
}

TEST_F(RestorePlanTest, DistinguishesNamesWithACommonPrefix) {
  add_object("batch");
  write({{"batch", one_}, {"batches", one_}});
  EXPECT_THAT([&] { restore(); }, ThrowsMessage<InvalidArgumentError>(HasSubstr("\"batches\"")));
}

TEST_F(RestorePlanTest, NamesTheObjectThatRejectsItsState) {
  add_object("batches")->refuses = true;
  write({{"batches", one_}});
  EXPECT_THAT([&] { restore(); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("ckpt"), HasSubstr("\"batches\""), HasSubstr("not mine"))));
}

TEST_F(RestorePlanTest, WarnsOfMissingOrRejectedOptionalState) {
  add_object("hooks/Missing/best", true);
  add_object("hooks/Refusing/best", true)->refuses = true;
  write({{"hooks/Refusing/best", one_}, {"hooks/Surplus/best", one_}});
  restore();
  EXPECT_TRUE(log_.contains("has no state of \"hooks/Missing/best\""));
  EXPECT_TRUE(log_.contains("\"hooks/Refusing/best\" cannot be restored"));
  EXPECT_TRUE(log_.contains("\"hooks/Surplus/best\""));
}

TEST_F(RestorePlanTest, RestoresVariablesAndObjectsFromOtherNames) {
  const Variable w = graph_.variable("net/w", Tensor::scalar(0.0f));
  const auto generator = add_object("net/generator");
  write({{"old/w", one_}, {"old/generator", one_}, {"old/generator/cached", one_}});
  const RestoreReport report = restore({.rename = {{"net/*", "old/*"}}});
  EXPECT_EQ(value(w), one_);
  EXPECT_THAT(generator->keys(), ElementsAre("", "cached"));
  EXPECT_EQ(report.renamed, (std::map<std::string, std::string>{
                                {"net/w", "old/w"}, {"net/generator", "old/generator"}}));
  EXPECT_THAT(report.surplus, IsEmpty());
}

TEST_F(RestorePlanTest, ARenameIsAppliedAlsoIfTheCheckpointHasTheOwnName) {
  const Variable w = graph_.variable("w", Tensor::scalar(0.0f));
  const auto generator = add_object("generator");
  const Tensor two = Tensor::scalar(2.0f);
  write({{"w", two}, {"generator/own", two}, {"old/w", one_}, {"old/generator", one_}});
  const RestoreReport report =
      restore({.rename = {{"w", "old/w"}, {"generator", "old/generator"}}, .allow_surplus = true});
  EXPECT_EQ(value(w), one_);
  EXPECT_THAT(generator->keys(), ElementsAre(""));
  EXPECT_EQ(report.renamed,
            (std::map<std::string, std::string>{{"w", "old/w"}, {"generator", "old/generator"}}));
  EXPECT_THAT(report.surplus, ElementsAre("generator/own", "w"));
}

TEST_F(RestorePlanTest, SwapsTwoValues) {
  const Variable a = graph_.variable("a", Tensor::scalar(0.0f));
  const Variable b = graph_.variable("b", Tensor::scalar(0.0f));
  const auto c = add_object("c");
  const auto d = add_object("d");
  write({{"a", one_}, {"b", Tensor::scalar(2.0f)}, {"c/first", one_}, {"d/second", one_}});
  restore({.rename = {{"a", "b"}, {"b", "a"}, {"c", "d"}, {"d/*", "c/*"}}});
  EXPECT_EQ(value(a), Tensor::scalar(2.0f));
  EXPECT_EQ(value(b), one_);
  EXPECT_THAT(c->keys(), ElementsAre("second"));
  EXPECT_THAT(d->keys(), ElementsAre("first"));
}

TEST_F(RestorePlanTest, GivesOneStoredValueToSeveral) {
  const Variable w = graph_.variable("model/w", Tensor::scalar(0.0f));
  const Variable average = graph_.variable("ema/w", Tensor::scalar(0.0f));
  write({{"model/w", Tensor::scalar(2.0f)}, {"ema/w", one_}});
  restore({.rename = {{"model/*", "ema/*"}}, .allow_surplus = true});
  EXPECT_EQ(value(w), one_);
  EXPECT_EQ(value(average), one_);
}

TEST_F(RestorePlanTest, ARenamedValueThatIsMissingIsNotTakenFromItsOwnName) {
  graph_.variable("model/w", Tensor::scalar(0.0f));
  const Variable b = graph_.variable("model/b", Tensor::scalar(0.0f));
  write({{"model/w", one_}, {"model/b", one_}, {"ema/w", one_}});
  EXPECT_THAT(
      [&] {
        restore({.rename = {{"model/*", "ema/*"}}, .allow_surplus = true});
      },
      ThrowsMessage<NotFoundError>(HasSubstr("Key ema/b not found")));
  restore({.rename = {{"model/b", "model/b"}, {"model/*", "ema/*"}}, .allow_surplus = true});
  EXPECT_EQ(value(b), one_);
}

// Also together with options by which nothing may be missing or surplus.
TEST_F(RestorePlanTest, RejectsARenameThatMatchesNothing) {
  graph_.variable("model/weights", Tensor::scalar(0.0f));
  write({{"w", one_}});
  for (const StoredName& rule :
       {StoredName{"model/wieghts", "w"}, {"model/weights", "v"}, {"net/*", "*"}})
    EXPECT_THAT([&] { restore({.rename = {rule}, .allow_missing = true, .allow_surplus = true}); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(
                    "rename {\"" + rule.name + "\", \"" + rule.stored_as + "\"} matches nothing")));
  restore({.rename = {{"model/weights", "w"}}});
}

TEST_F(RestorePlanTest, PatternsOfARenameDoNotMatchTheStateOfHooks) {
  const Variable w = graph_.variable("w", Tensor::scalar(0.0f));
  const auto best = add_object("hooks/best", true);
  write({{"old/w", one_}, {"hooks/best/loss", one_}});
  restore({.rename = {{"*", "old/*"}}});
  EXPECT_EQ(value(w), one_);
  EXPECT_THAT(best->keys(), ElementsAre("loss"));
}

TEST_F(RestorePlanTest, PatternsOfOptionsDoNotMatchTheStateOfHooks) {
  const auto best = add_object("hooks/best", true);
  write({{"hooks/best/loss", one_}});
  for (const NamePatterns& keep : {NamePatterns(true), NamePatterns{"hooks/*"}}) {
    EXPECT_THAT(restore({.keep = keep}).kept, IsEmpty());
    EXPECT_THAT(best->keys(), ElementsAre("loss"));
    best->state.clear();
  }
  EXPECT_THAT(restore({.keep = {"hooks/best"}}).kept, ElementsAre("hooks/best/loss"));
  EXPECT_THAT(best->keys(), IsEmpty());
}

TEST_F(RestorePlanTest, KeepsWhatTheProgramHas) {
  const Variable rate = graph_.variable("adam/lr", Tensor::scalar(0.5f));
  const Variable w = graph_.variable("w", Tensor::scalar(0.0f));
  const auto options = add_object("options");
  const auto whole = add_object("whole");
  graph_.variable("new/lr", Tensor::scalar(0.5f));
  options->state = {{"lr", Tensor::scalar(0.5f)}, {"steps", Tensor::scalar(0.5f)}};
  write({{"adam/lr", one_},
         {"w", one_},
         {"options/lr", one_},
         {"options/steps", one_},
         {"whole/x", one_}});
  const RestoreReport report = restore({.keep = {"*/lr", "whole"}});
  EXPECT_EQ(value(rate), Tensor::scalar(0.5f));
  EXPECT_EQ(value(w), one_);
  EXPECT_EQ(options->state.at("lr"), Tensor::scalar(0.5f));
  EXPECT_EQ(options->state.at("steps"), one_);
  EXPECT_THAT(whole->keys(), IsEmpty());
  EXPECT_THAT(report.kept, ElementsAre("adam/lr", "new/lr", "options/lr", "whole/x"));
  EXPECT_THAT(report.surplus, IsEmpty());
  EXPECT_THAT(report.missing, IsEmpty());
}

TEST_F(RestorePlanTest, AppliesEachRuleToTheNamesThatMatch) {
  const Variable w = graph_.variable("a/w", Tensor::zeros<float>({2}));
  graph_.variable("b/w", Tensor::zeros<float>({2}));
  const Tensor doubles = Tensor::from<double>({0.5, 0.1}, {1, 2});
  write({{"a/w", doubles}, {"b/w", doubles}});
  EXPECT_THAT([&] { restore({.reshape = {"a/*"}, .convert_dtype = true}); },
              ThrowsMessage<InvalidArgumentError>(
                  "checkpoint ckpt does not fit this program: \"b/w\" is float64 [1,2] in the "
                  "checkpoint and float32 [2] in the program, which is not the original dtype"));
  const RestoreReport report =
      restore({.allow_mismatched = {"b/?"}, .reshape = {"a/*"}, .convert_dtype = true});
  EXPECT_EQ(value(w), Tensor::from<float>({0.5f, 0.1f}));
  EXPECT_THAT(report.reshaped, ElementsAre("a/w"));
  EXPECT_THAT(report.converted, ElementsAre("a/w"));
  EXPECT_THAT(report.missing, ElementsAre("b/w"));
}

TEST_F(RestorePlanTest, NamesTheNumberThatCannotBeConverted) {
  graph_.variable("w", Tensor::zeros<float>({2}));
  write({{"w", Tensor::from<double>({1, 1e300})}});
  EXPECT_THAT([&] { restore({.convert_dtype = true}); },
              ThrowsMessage<InvalidArgumentError>(
                  "checkpoint ckpt: \"w\": element 1 is 1e+300, which float32 cannot hold"));
}

TEST_F(RestorePlanTest, SaysWhyAValueCannotBeRead) {
  graph_.variable("w", one_);
  put_file(files_, "ckpt", torch_archive("}" + pickled("w") + "cm\nMake\n)R" + "s").bytes());
  EXPECT_THAT([&] { restore(); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"w\" cannot be read: it is made by m.Make, which crochet does not")));
  EXPECT_THAT(restore({.allow_missing = {"w"}}).missing, ElementsAre("w"));
}

// As save_model() of Python stores tied weights; a program may know one name of them, or both.
TEST_F(RestorePlanTest, OfATensorWithSeveralNamesOneIsEnough) {
  const std::string header =
      R"({"__metadata__":{"head":"w"},"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  put_file(files_, "ckpt.safetensors",
           std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header +
               std::string("\0\0\x80\x3f", 4));
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"w"}, {"head"}, {"w", "head"}}) {
    ScriptedGraph graph{{.counts_steps = false}};
    std::vector<Variable> variables;
    for (const std::string& name : names)
      variables.push_back(graph.variable(name, Tensor::scalar(7.0f)));
    const auto session = graph.new_session("");
    restore_state(*session, CheckpointReader("ckpt", files_), {}, {});
    for (const Variable& variable : variables)
      EXPECT_EQ(session->snapshot({&variable, 1}).tensors()[0].tensor, one_) << names.front();
  }
}

}  // namespace
}  // namespace crochet::internal
