// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The variables and objects that a saver saves, their names, and how they are restored.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/tensor/tensor_slice.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/checkpoint_contents.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::ThrowsMessage;

// first, first + 1, ...
Tensor counted(const Shape& shape, float first = 0) {
  Tensor tensor = Tensor::zeros<float>(shape);
  std::ranges::generate(tensor.mutable_flat<float>(), [&] { return first++; });
  return tensor;
}

// An object with a table of numbers.
class Table final : public Saveable {
 public:
  TensorMap save() const override { return rows; }
  void restore(const TensorMap& state) override { rows = state; }
  TensorMap rows;
};

// A graph with some variables, and a session of it.
struct Model {
  explicit Model(const std::vector<NamedTensor>& variables) {
    for (const auto& [name, value] : variables) graph.variable(name, value);
  }

  Tensor value(const std::string& name) {
    if (!session) session = graph.new_session("");
    for (const NamedTensor& entry : session->snapshot(graph.variables()).tensors())
      if (entry.name == name) return entry.tensor;
    return {};
  }
  Session& open() {
    if (!session) session = graph.new_session("");
    return *session;
  }

  ScriptedGraph graph{{.counts_steps = false}};
  std::unique_ptr<Session> session;
};

class SaverVariablesTest : public testing::Test {
 protected:
  SaverOptions with(SaverOptions options) {
    options.files = &files_;
    return options;
  }
  Saver saver_of(std::vector<SavedVariable> variables) {
    return Saver(with({.var_list = std::move(variables)}));
  }
  Saver saver() { return Saver(with({})); }
  TensorMap saved() { return read_all(CheckpointReader("m", files_)); }

  LogCapture log_;
  MemoryFileSystem files_;
  const Tensor one_ = Tensor::scalar(1.0f);
  const Tensor two_ = Tensor::scalar(2.0f);
};

// SV-15
TEST_F(SaverVariablesTest, AListSavesVariablesUnderTheirNames) {
  Model model({{"v0", one_}, {"v1", two_}, {"other", one_}});
  const std::vector<Variable> all = model.graph.variables();
  saver_of({all[1], all[0]}).save(model.open(), "m");
  EXPECT_EQ(saved(), (TensorMap{{"v0", one_}, {"v1", two_}}));
  Model fresh({{"v0", two_}, {"v1", one_}, {"other", two_}});
  saver_of({"v0", "v1"}).restore(fresh.open(), "m");
  EXPECT_EQ(fresh.value("v0"), one_);
  EXPECT_EQ(fresh.value("v1"), two_);
  EXPECT_EQ(fresh.value("other"), two_);
}

// The examples in the header of SavedVariable.
TEST_F(SaverVariablesTest, ListsAreWrittenInBraces) {
  const Saver named({.var_list = {"bias", SavedVariable("dense/w").as("kernel")}});
  const std::vector<SavedVariable>& names = *named.options().var_list;
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].key, "bias");
  EXPECT_EQ(names[1].name, "dense/w");
  EXPECT_EQ(names[1].key, "kernel");
  const Saver sliced(
      {.var_list = {SavedVariable("w_0").as("w", SaveSliceInfo{{4, 2}, parse_slice("0,2:-")}),
                    SavedVariable("w_1").as("w", SaveSliceInfo{{4, 2}, parse_slice("2,2:-")})}});
  const std::vector<SavedVariable>& parts = *sliced.options().var_list;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].slice->full_shape, (Shape{4, 2}));
  EXPECT_EQ(parts[1].slice->slice, parse_slice("2,2:-"));
  const Saver two({.var_list = {"v0", "v1"}});
  EXPECT_EQ(two.options().var_list->size(), 2u);
}

// SV-47
TEST_F(SaverVariablesTest, KeysOfTheListAreTheNamesInTheFile) {
  Model model({{"v0", one_}, {"v1", two_}});
  saver_of({SavedVariable("v0").as("save_prefix/v0"), SavedVariable("v1").as("save_prefix/v1")})
      .save(model.open(), "m");
  EXPECT_THAT(saved(), ElementsAre(Key("save_prefix/v0"), Key("save_prefix/v1")));

  Model unmapped({{"v0", two_}, {"v1", one_}});
  EXPECT_THAT(
      [&] {
        saver_of({"v0", "v1"}).restore(unmapped.open(), "m");
      },
      ThrowsMessage<NotFoundError>(HasSubstr("not found in checkpoint")));

  Model renamed({{"restore_prefix/v0", two_}, {"restore_prefix/v1", one_}});
  const RestoreReport report = saver_of({SavedVariable("restore_prefix/v0").as("save_prefix/v0"),
                                         SavedVariable("restore_prefix/v1").as("save_prefix/v1")})
                                   .restore(renamed.open(), "m");
  EXPECT_EQ(renamed.value("restore_prefix/v0"), one_);
  EXPECT_EQ(renamed.value("restore_prefix/v1"), two_);
  EXPECT_THAT(report.renamed, ElementsAre(Pair("restore_prefix/v0", "save_prefix/v0"),
                                          Pair("restore_prefix/v1", "save_prefix/v1")));
}

// SV-12
TEST_F(SaverVariablesTest, Int64RoundTrips) {
  const Tensor value = Tensor::from<int64_t>({INT64_MAX, INT64_MIN, 15});
  Model model({{"v", value}});
  saver().save(model.open(), "m");
  Model fresh({{"v", Tensor::zeros<int64_t>({3})}});
  saver().restore(fresh.open(), "m");
  EXPECT_EQ(fresh.value("v"), value);
}

// SV-13
TEST_F(SaverVariablesTest, TwoVariablesCannotHaveTheSameName) {
  const SaveSliceInfo upper{{4, 2}, parse_slice("0,2:-")};
  const SaveSliceInfo lower{{4, 2}, parse_slice("2,2:-")};
  EXPECT_THAT(
      [&] {
        saver_of({SavedVariable("v0").as("v"), SavedVariable("v1").as("v")});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("same name")));
  EXPECT_THAT(
      [&] {
        saver_of({SavedVariable("v0").as("v", upper), SavedVariable("v1").as("v")});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("same name")));
  EXPECT_THAT(
      [&] {
        saver_of({SavedVariable("v0").as("v", upper),
                  SavedVariable("v1").as("v", SaveSliceInfo{{6, 2}, lower.slice})});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("slices of the same variable")));
  EXPECT_THAT(
      [&] {
        saver_of({SavedVariable("v0").as("v", upper), SavedVariable("v1").as("v", upper)});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("overlap")));
  EXPECT_NO_THROW(
      saver_of({SavedVariable("v0").as("v", upper), SavedVariable("v1").as("v", lower)}));
  EXPECT_NO_THROW(
      saver_of({SavedVariable("v0").as("v0", upper), SavedVariable("v1").as("v1", upper)}));
}

// SV-14
TEST_F(SaverVariablesTest, OneVariableCannotHaveTwoNames) {
  EXPECT_THAT(
      [&] {
        saver_of({SavedVariable("v0").as("a"), SavedVariable("v0").as("b")});
      },
      ThrowsMessage<InvalidArgumentError>(
          HasSubstr("The same saveable will be restored with two names")));
  EXPECT_THAT(
      [&] {
        saver_of({"v0", "v0"});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("same name")));
}

TEST_F(SaverVariablesTest, AListMustNameVariablesOfTheGraph) {
  Model model({{"v0", one_}});
  EXPECT_THAT(
      [&] {
        saver_of({"v0", "w", "x"}).save(model.open(), "m");
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("w, x")));
}

// SV-17
TEST_F(SaverVariablesTest, NothingToSaveIsAnErrorUnlessAllowed) {
  Model empty({});
  EXPECT_THAT([&] { saver().save(empty.open(), "m"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("No variables to save")));
  EXPECT_THROW(saver_of({}), InvalidArgumentError);
  Saver saver(with({.allow_empty = true}));
  EXPECT_EQ(saver.save(empty.open(), "m", 1), "");
  EXPECT_THAT(files_.list(""), IsEmpty());
  EXPECT_EQ(saver.restore(empty.open(), "nowhere"), RestoreReport{});
}

// SV-20
TEST_F(SaverVariablesTest, WithoutAListAllVariablesAndObjectsAreSaved) {
  const auto table = std::make_shared<Table>();
  Model model({{"v0", one_}, {"v1", two_}});
  model.graph.add_saveable({.name = "table", .object = table});
  table->rows = {{"k1", one_}, {"k2", two_}};
  saver().save(model.open(), "m");
  EXPECT_EQ(saved(),
            (TensorMap{{"v0", one_}, {"v1", two_}, {"table/k1", one_}, {"table/k2", two_}}));
  Model fresh({{"v0", two_}, {"v1", one_}});
  const auto restored = std::make_shared<Table>();
  fresh.graph.add_saveable({.name = "table", .object = restored});
  saver().restore(fresh.open(), "m");
  EXPECT_EQ(fresh.value("v0"), one_);
  EXPECT_EQ(fresh.value("v1"), two_);
  EXPECT_EQ(restored->rows, table->rows);
}

// "/k" is not a path: the names of entries begin with the name of the object.
TEST_F(SaverVariablesTest, EqualKeysOfTwoObjectsAreTwoEntries) {
  Model model({});
  const auto a = std::make_shared<Table>(), b = std::make_shared<Table>();
  model.graph.add_saveable({.name = "a", .object = a});
  model.graph.add_saveable({.name = "b", .object = b});
  a->rows = {{"/k", one_}};
  b->rows = {{"/k", two_}};
  saver().save(model.open(), "m");
  EXPECT_THAT(saved(), ElementsAre(Key("a//k"), Key("b//k")));
  std::swap(a->rows, b->rows);
  saver().restore(model.open(), "m");
  EXPECT_EQ(a->rows, (TensorMap{{"/k", one_}}));
  EXPECT_EQ(b->rows, (TensorMap{{"/k", two_}}));
}

TEST_F(SaverVariablesTest, ObjectsAreRenamedWithAllTheirEntries) {
  const auto table = std::make_shared<Table>();
  table->rows = {{"", one_}, {"a/b", two_}};
  Model model({{"table_of_contents", one_}});
  model.graph.add_saveable({.name = "table", .object = table});
  const RestoreReport expected{
      .prefix = "m", .restored = {"table_of_contents", "table"}, .renamed = {{"table", "t"}}};
  Saver renaming = saver_of({SavedVariable("table").as("t"), "table_of_contents"});
  renaming.save(model.open(), "m");
  EXPECT_THAT(saved(), ElementsAre(Key("t"), Key("t/a/b"), Key("table_of_contents")));
  table->rows.clear();
  EXPECT_EQ(renaming.restore(model.open(), "m"), expected);
  EXPECT_EQ(table->rows, (TensorMap{{"", one_}, {"a/b", two_}}));
}

// SV-21
TEST_F(SaverVariablesTest, DeferredBuildTakesNoList) {
  EXPECT_THAT([&] { Saver({.var_list = {{"v0"}}, .defer_build = true}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("defer_build")));
}

// SV-22
TEST_F(SaverVariablesTest, NothingIsSavedBeforeTheDeferredBuild) {
  Model model({{"v0", one_}});
  Saver saver(with({.defer_build = true}));
  EXPECT_THAT([&] { saver.save(model.open(), "m"); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("build")));
  EXPECT_THROW(saver.restore(model.open(), "m"), FailedPreconditionError);
  EXPECT_THROW(saver.restore_newest(model.open(), "", "m"), FailedPreconditionError);
  EXPECT_THROW(saver.snapshot(model.open()), FailedPreconditionError);
}

// SV-23
TEST_F(SaverVariablesTest, ADeferredBuildIncludesLaterVariables) {
  Saver saver(with({.defer_build = true}));
  Model model({{"v0", one_}});
  model.graph.variable("v1", two_);
  saver.build(model.graph);
  saver.build(model.graph);
  saver.save(model.open(), "m");
  EXPECT_EQ(saved(), (TensorMap{{"v0", one_}, {"v1", two_}}));
  Saver empty(with({.defer_build = true}));
  EXPECT_THROW(empty.build(Model({}).graph), InvalidArgumentError);
}

// SV-24
TEST_F(SaverVariablesTest, ReshapeKeepsTheOrderOfTheElements) {
  Model model({{"v", counted({2, 3})}});
  saver().save(model.open(), "m");
  Model other({{"v", Tensor::zeros<float>({3, 2})}});
  EXPECT_THROW(saver().restore(other.open(), "m"), InvalidArgumentError);
  const RestoreReport report = Saver(with({}), {.reshape = true}).restore(other.open(), "m");
  EXPECT_EQ(other.value("v"), counted({3, 2}));
  EXPECT_THAT(report.reshaped, ElementsAre("v"));
  Model larger({{"v", Tensor::zeros<float>({4, 2})}});
  EXPECT_THROW(Saver(with({}), {.reshape = true}).restore(larger.open(), "m"),
               InvalidArgumentError);
}

TEST_F(SaverVariablesTest, StringsAreRestored) {
  const Tensor words = Tensor::from({"cat", "", "a dog", "emu"}, {2, 2});
  Model model({{"words", words}});
  saver().save(model.open(), "m");
  Model other({{"words", Tensor::from({"", "", "", ""}, {2, 2})}});
  saver().restore(other.open(), "m");
  EXPECT_EQ(other.value("words"), words);
  Model flat({{"words", Tensor::from({"", "", "", ""})}});
  EXPECT_THROW(saver().restore(flat.open(), "m"), InvalidArgumentError);
  Saver(with({}), {.reshape = true}).restore(flat.open(), "m");
  EXPECT_EQ(flat.value("words"), Tensor::from({"cat", "", "a dog", "emu"}));
}

// SV-29
TEST_F(SaverVariablesTest, ATypeMismatchIsAnErrorThatNamesTheOriginalType) {
  Model model({{"v", Tensor::from<float>({1, 2})}});
  saver().save(model.open(), "m");
  Model other({{"v", Tensor::from<int32_t>({1, 2})}});
  EXPECT_THAT([&] { saver().restore(other.open(), "m"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("original dtype")));
}

// SV-79
TEST_F(SaverVariablesTest, AMissingKeyIsNamed) {
  Model model({{"a", one_}});
  saver().save(model.open(), "m");
  Model more({{"a", two_}, {"b", two_}});
  EXPECT_THAT([&] { saver().restore(more.open(), "m"); },
              ThrowsMessage<NotFoundError>(HasSubstr("Key b not found in checkpoint")));
  EXPECT_EQ(more.value("a"), two_);
  Model other({{"b", two_}});
  EXPECT_THAT([&] { saver().restore(other.open(), "m"); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("Key b not found in checkpoint"),
                        HasSubstr("\"a\" (float32 []) is not in the program"))));
}

TEST_F(SaverVariablesTest, AMissingKeyIsNotTreatedAsDamage) {
  Model model({{"a", one_}});
  saver().save(model.open(), "d/m", 1);
  Model more({{"a", two_}, {"b", two_}});
  EXPECT_THROW(saver().restore_newest(more.open(), "d", "m"), NotFoundError);
  EXPECT_TRUE(checkpoint_exists(files_, "d/m-1"));
}

TEST_F(SaverVariablesTest, APartialRestoreReportsItsResult) {
  const auto table = std::make_shared<Table>();
  Model model({{"both", one_}, {"gone", one_}, {"old", one_}});
  saver().save(model.open(), "d/m", 1);
  Model next({{"both", two_}, {"new", two_}, {"wide", two_}});
  next.graph.add_saveable({.name = "table", .object = table});
  EXPECT_THROW(Saver(with({}), {.allow_missing = true}).restore(next.open(), "d/m-1"),
               InvalidArgumentError);
  EXPECT_THROW(Saver(with({}), {.allow_surplus = true}).restore(next.open(), "d/m-1"),
               NotFoundError);
  Saver partial(with({}), {.allow_missing = true, .allow_surplus = true});
  const RestoreReport expected{.prefix = "d/m-1",
                               .restored = {"both"},
                               .missing = {"new", "wide", "table"},
                               .surplus = {"gone", "old"}};
  EXPECT_EQ(partial.restore(next.open(), "d/m-1"), expected);
  EXPECT_EQ(next.value("both"), one_);
  EXPECT_EQ(next.value("new"), two_);
  EXPECT_TRUE(log_.contains("3 missing (new, wide, table)"));
  EXPECT_EQ(partial.restore_newest(next.open(), "d", "m"), expected);
  EXPECT_EQ(to_string(expected),
            "d/m-1: 1 restored, 3 missing (new, wide, table), 2 surplus (gone, old)");
}

TEST_F(SaverVariablesTest, AFilterExcludesVariables) {
  Model model({{"w", one_}, {"adam/m", one_}});
  const auto no_adam = [](std::string_view name) { return !name.starts_with("adam/"); };
  saver().save(model.open(), "all");
  Saver filtered(with({.filter = no_adam}));
  filtered.save(model.open(), "m");
  EXPECT_THAT(saved(), ElementsAre(Key("w")));
  Model fresh({{"w", two_}, {"adam/m", two_}});
  EXPECT_THAT(filtered.restore(fresh.open(), "all").surplus, ElementsAre("adam/m"));
  EXPECT_EQ(fresh.value("w"), one_);
  EXPECT_EQ(fresh.value("adam/m"), two_);
  Saver nothing(with({.filter = [](std::string_view) { return false; }}));
  EXPECT_THAT([&] { nothing.save(model.open(), "none"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("No variables to save")));
}

// The parts of a variable of 12 rows, in a graph, and the list that declares them.
struct Partitioned {
  explicit Partitioned(int num_parts, float first = 0) : rows(12 / num_parts), model({}) {
    for (int i = 0; i < num_parts; ++i) {
      const std::string name = fmt::format("p/part_{}", i);
      model.graph.variable(name, counted({rows, 2}, first + static_cast<float>(2 * rows * i)));
      list.push_back(
          SavedVariable(name).as("p", SaveSliceInfo{{12, 2}, {{rows * i, rows}, SliceExtent{}}}));
    }
  }
  Tensor joined() {
    std::vector<float> all;
    for (const Variable& part : model.graph.variables()) {
      const Tensor value = model.value(part.name());
      all.insert(all.end(), value.flat<float>().begin(), value.flat<float>().end());
    }
    return Tensor::from(all, {12, 2});
  }

  int64_t rows;
  Model model;
  std::vector<SavedVariable> list;
};

// SV-33
TEST_F(SaverVariablesTest, PartitionedVariablesAreRestoredIntoAnyPartition) {
  Partitioned two(2);
  Model full({{"p", counted({12, 2})}});
  saver_of(two.list).save(two.model.open(), "two");
  saver_of({"p"}).save(full.open(), "full");
  EXPECT_EQ(CheckpointReader("two", files_).slices("p").size(), 2u);
  for (const char* const prefix : {"two", "full"}) {
    Model whole({{"p", Tensor::zeros<float>({12, 2})}});
    saver().restore(whole.open(), prefix);
    EXPECT_EQ(whole.value("p"), counted({12, 2})) << prefix;
    for (const int num_parts : {2, 3, 4}) {
      Partitioned parts(num_parts, -100);
      saver_of(parts.list).restore(parts.model.open(), prefix);
      EXPECT_EQ(parts.joined(), counted({12, 2})) << num_parts << " parts of " << prefix;
    }
  }
}

TEST_F(SaverVariablesTest, RejectsASliceOfAnotherFullShape) {
  Model full({{"p", counted({10, 2})}});
  saver().save(full.open(), "m");
  Partitioned parts(2);
  EXPECT_THAT([&] { saver_of(parts.list).restore(parts.model.open(), "m"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("is a slice of [12,2]")));
}

TEST_F(SaverVariablesTest, RejectsACheckpointWithoutTheSlice) {
  Partitioned parts(2);
  parts.list.pop_back();
  saver_of(parts.list).save(parts.model.open(), "m");
  Model whole({{"p", Tensor::zeros<float>({12, 2})}});
  EXPECT_THAT([&] { saver().restore(whole.open(), "m"); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("sufficient slices")));
}

// SV-30: here, a large tensor is one that does not fit into one read.
TEST_F(SaverVariablesTest, LargeAndSmallTensorsRoundTripTogether) {
  Model model({{"large", counted({1'000'003})},
               {"small", counted({3})},
               {"larger", counted({1024, 1025}, 7)},
               {"scalar", one_}});
  saver().save(model.open(), "m");
  Model fresh({{"small", Tensor::zeros<float>({3})},
               {"larger", Tensor::zeros<float>({1024, 1025})},
               {"scalar", two_},
               {"large", Tensor::zeros<float>({1'000'003})}});
  saver().restore(fresh.open(), "m");
  for (const Variable& variable : model.graph.variables())
    EXPECT_EQ(fresh.value(variable.name()), model.value(variable.name())) << variable.name();
}

TEST_F(SaverVariablesTest, EmptyTensorsRoundTrip) {
  Model model({{"none", Tensor::zeros<float>({0, 3})}, {"one", one_}});
  saver().save(model.open(), "m");
  EXPECT_EQ(saver().restore(model.open(), "m").restored.size(), 2u);
  EXPECT_EQ(model.value("none"), Tensor::zeros<float>({0, 3}));
}

TEST_F(SaverVariablesTest, SavesAndRestoresManyVariables) {
  std::vector<NamedTensor> many;
  for (int i = 0; i < 20'000; ++i) many.push_back({fmt::format("layer/{}", i), one_});
  Model model(many);
  model.graph.add_saveable({.name = "table", .object = std::make_shared<Table>()});
  Saver saver(with({}), {.allow_missing = true});
  saver.save(model.open(), "m");
  EXPECT_EQ(saver.restore(model.open(), "m").restored.size(), many.size());
}

}  // namespace
}  // namespace crochet
