// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Values whose parts are listed again at each save: their names in checkpoints, their growth, what
// a restore makes and keeps, its options, and checkpoints that do not fit.
#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <unordered_map>
#include <variant>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/eigen.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/evaluator.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::tracked_containers {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Pair;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

struct Layer {
  std::vector<float> weights;
  float bias = 0;
  int untracked = 0;
  void track(Tracker& tracker) { tracker("weights", weights)("bias", bias); }
};

// Gets its state with the first step.
struct Momentum {
  std::map<std::string, std::vector<float>> by_name;
  int64_t steps = 0;

  void step(const std::string& name, size_t size) {
    by_name[name].resize(size, 0.5F);
    ++steps;
  }
  void make(const StoredParts& stored) {
    by_name.clear();
    for (const std::string& name : stored.beneath("moments").names())
      by_name[name].resize(static_cast<size_t>(stored.find("moments/" + name)->shape[0]));
  }
  void track(Tracker& tracker) {
    for (auto& [name, moments] : by_name) tracker("moments/" + name, moments);
    tracker("steps", steps);
  }
};

}  // namespace
}  // namespace crochet::tracked_containers

namespace elsewhere {

// A third-party optimizer, with the same functions in its namespace.
struct Optimizer {
  std::map<int, double> rates;
};
void make(const crochet::StoredParts& stored, Optimizer& optimizer) {
  optimizer.rates.clear();
  for (const std::string& name : stored.names()) optimizer.rates[std::stoi(name)];
}
void track(crochet::Tracker& tracker, Optimizer& optimizer) {
  for (auto& [group, rate] : optimizer.rates) tracker(std::to_string(group), rate);
}

}  // namespace elsewhere

namespace crochet::tracked_containers {
namespace {

class TrackedContainersTest : public testing::Test {
 protected:
  using Track = std::function<void(Tracker&)>;

  // A program with its values.
  struct Program {
    explicit Program(const Track& track) {
      graph.create_global_step();
      Tracker tracker(graph, "");
      track(tracker);
      session = graph.new_session("");
    }
    local::Graph graph;
    std::unique_ptr<Session> session;
  };
  template <typename T>
  static Track tracked(T& value) {
    return [&value](Tracker& tracker) { tracker("value", value); };
  }

  template <typename T>
  void save(T& value) {
    Saver({.files = &files_}).save(*Program(tracked(value)).session, "run/ckpt", 1);
  }
  template <typename T>
  RestoreReport restore(T& value, const RestoreOptions& options = {}) {
    return Saver({.files = &files_}, options)
        .restore(*Program(tracked(value)).session, "run/ckpt-1");
  }

  // A checkpoint that no program wrote.
  void write(const std::vector<std::pair<std::string, Tensor>>& tensors) {
    internal::BundleWriter writer(files_, "run/ckpt-1");
    writer.add("global_step", Tensor::scalar<int64_t>(1));
    for (const auto& [name, value] : tensors) writer.add(name, value);
    writer.finish();
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const CheckpointReader reader("run/ckpt-1", files_);
    for (const auto& [name, info] : reader.tensors())
      if (name != "global_step") names.push_back(name);
    return names;
  }
  Tensor stored(const std::string& name) {
    return CheckpointReader("run/ckpt-1", files_).read(name);
  }

  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(TrackedContainersTest, NamesParts) {
  struct Model {
    std::vector<Layer> layers = {{{1}, 2}, {{3}, 4}};
    std::map<std::string, Layer> by_name = {{"a/b", {}}, {"", {}}};
    std::optional<Layer> head = Layer();
    std::unique_ptr<Layer> tail;
    std::vector<Layer> none;
    std::variant<int, Layer> either = Layer();
    std::pair<int, Layer> both;
    void track(Tracker& tracker) {
      tracker("layers", layers)("by_name", by_name)("head", head)("tail", tail)("none", none)(
          "either", either)("both", both);
    }
  } model;
  save(model);
  EXPECT_THAT(
      names(),
      ElementsAre("value/both/first", "value/both/second/bias", "value/both/second/weights",
                  "value/by_name/%/bias", "value/by_name/%/weights", "value/by_name/a%2Fb/bias",
                  "value/by_name/a%2Fb/weights", "value/either/1/bias", "value/either/1/weights",
                  "value/head/bias", "value/head/weights", "value/layers/0/bias",
                  "value/layers/0/weights", "value/layers/1/bias", "value/layers/1/weights",
                  "value/none/%empty", "value/tail/%null"));
  EXPECT_EQ(stored("value/layers/1/weights"), Tensor::from<float>({3}));
}

TEST_F(TrackedContainersTest, StoresAVocabularyInTheOrderOfItsKeys) {
  std::unordered_map<std::string, int> vocabulary = {{"the", 5}, {"a", 7}, {"of", 6}};
  save(vocabulary);
  EXPECT_THAT(names(), ElementsAre("value/keys", "value/values"));
  EXPECT_EQ(stored("value/keys"), Tensor::from({"a", "of", "the"}));
  EXPECT_EQ(stored("value/values"), Tensor::from<int>({7, 6, 5}));
}

TEST_F(TrackedContainersTest, StoresAStringAsText) {
  std::string text = "cat";
  save(text);
  EXPECT_EQ(stored("value"), Tensor::scalar("cat"));
}

// As it was stored before strings had a type of their own.
TEST_F(TrackedContainersTest, RestoresAStringThatIsAVectorOfBytes) {
  write({{"value", Tensor::from<int8_t>({'c', 'a', 't'})}});
  std::string text = "another";
  restore(text);
  EXPECT_EQ(text, "cat");
}

TEST_F(TrackedContainersTest, FollowsItsValueFromSaveToSave) {
  std::map<std::string, std::vector<Layer>> value;
  Program program(tracked(value));
  Saver saver({.files = &files_});
  const auto names_now = [&] {
    saver.save(*program.session, "run/ckpt", 1);
    return names();
  };
  EXPECT_THAT(names_now(), ElementsAre("value/%empty"));
  value["a"] = {{}, {}};
  value["b"];
  EXPECT_THAT(names_now(), ElementsAre("value/a/0/bias", "value/a/0/weights", "value/a/1/bias",
                                       "value/a/1/weights", "value/b/%empty"));
  value["b"].push_back({std::vector<float>(1000, 1), 2});
  value["a"].clear();
  EXPECT_THAT(names_now(), ElementsAre("value/a/%empty", "value/b/0/bias", "value/b/0/weights"));
  value["b"][0].weights.resize(2000, 3);
  names_now();
  EXPECT_EQ(stored("value/b/0/weights").shape(), Shape{2000});
  value.clear();
  EXPECT_THAT(names_now(), ElementsAre("value/%empty"));
}

// What a snapshot holds does not change when the value does, nor with the next snapshots.
TEST_F(TrackedContainersTest, SnapshotsKeepTheirValues) {
  std::vector<Layer> value = {{std::vector<float>(1 << 20, 1), 1}};
  Program program(tracked(value));
  const Saver saver({.files = &files_});
  std::vector<Snapshot> snapshots;
  for (int i = 1; i <= 4; ++i) {
    value[0].weights.assign(1 << 20, static_cast<float>(i));
    snapshots.push_back(saver.snapshot(*program.session));
  }
  value.clear();
  for (int i = 1; i <= 4; ++i)
    for (const NamedTensor& each : snapshots[static_cast<size_t>(i - 1)].tensors()) {
      if (each.name == "value/0/weights") {
        EXPECT_THAT(each.tensor.flat<float>(), testing::Each(static_cast<float>(i)));
      }
    }
}

TEST_F(TrackedContainersTest, RestoresElementsInTheirPlaces) {
  std::vector<Layer> value = {{{1}, 2}, {{3}, 4}};
  save(value);
  std::list<Layer> other(3);
  for (Layer& layer : other) layer.untracked = 7;
  const Layer* const first = &other.front();
  restore(other);
  EXPECT_EQ(&other.front(), first);
  EXPECT_EQ(first->untracked, 7);
  EXPECT_THAT(first->weights, ElementsAre(1));
  EXPECT_EQ(other.size(), 2);

  std::map<int, Layer> map = {{0, Layer()}, {5, Layer()}};
  map[0].untracked = 7;
  restore(map);  // The same names.
  EXPECT_EQ(map.size(), 2);
  EXPECT_EQ(map[0].untracked, 7);
  EXPECT_EQ(map[1].bias, 4);
}

TEST_F(TrackedContainersTest, KeepsTheObjectThatAPointerOwns) {
  auto value = std::make_unique<Layer>(Layer{{1}, 2});
  save(value);
  auto other = std::make_shared<Layer>();
  Layer* const object = other.get();
  object->untracked = 7;
  restore(other);
  EXPECT_EQ(other.get(), object);
  EXPECT_EQ(object->bias, 2);
  Layer plain;
  restore(plain);  // A value, an optional and a pointer have the same names.
  EXPECT_EQ(plain.bias, 2);
}

// No default constructor.
struct Sized {
  explicit Sized(int size) : numbers(static_cast<size_t>(size)) {}
  std::vector<int> numbers;
  void track(Tracker& tracker) { tracker("numbers", numbers); }
};

TEST_F(TrackedContainersTest, CannotMakeWhatHasNoDefaultConstructor) {
  std::vector<Sized> value = {Sized(1), Sized(2)};
  save(value);
  std::vector<Sized> as_many = {Sized(5), Sized(5)};
  restore(as_many);
  EXPECT_EQ(as_many[1].numbers.size(), 2);
  std::vector<Sized> more = {Sized(5), Sized(5), Sized(5)};
  restore(more);
  EXPECT_EQ(more.size(), 2);
  std::vector<Sized> fewer = {Sized(5)};
  EXPECT_THAT([&] { restore(fewer); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("\"value\""), HasSubstr("no default constructor"))));
  EXPECT_EQ(fewer[0].numbers.size(), 5);
}

TEST_F(TrackedContainersTest, GivesEmptyMatricesTheStoredSize) {
  std::vector<Eigen::MatrixXf> value = {Eigen::MatrixXf::Constant(2, 3, 7)};
  save(value);
  std::vector<Eigen::MatrixXf> fresh;
  restore(fresh);
  EXPECT_EQ(fresh, value);
  std::vector<Eigen::MatrixXf> other = {Eigen::MatrixXf::Zero(3, 3)};
  EXPECT_THAT([&] { restore(other); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"value/0\" is float32 [2,3] in the checkpoint and float32 [3,3]")));
  std::vector<Eigen::Matrix<float, Eigen::Dynamic, 2>> narrow;
  EXPECT_THROW(restore(narrow), InvalidArgumentError);
  EXPECT_THAT(narrow, IsEmpty());
}

TEST_F(TrackedContainersTest, ProvidersMakeWhatTheCheckpointHas) {
  Momentum value;
  Program program(tracked(value));
  Saver saver({.files = &files_});
  value.step("w", 3);
  value.step("b", 1);
  saver.save(*program.session, "run/ckpt", 1);
  EXPECT_THAT(names(), ElementsAre("value/moments/b", "value/moments/w", "value/steps"));
  Momentum fresh;
  restore(fresh);
  EXPECT_EQ(fresh.by_name, value.by_name);
  EXPECT_EQ(fresh.steps, 2);
  Momentum other;
  other.step("c", 2);
  restore(other);
  EXPECT_EQ(other.by_name, value.by_name);

  elsewhere::Optimizer optimizer{{{3, 0.5}}}, fresh_optimizer;
  save(optimizer);
  restore(fresh_optimizer);
  EXPECT_EQ(fresh_optimizer.rates, optimizer.rates);
}

TEST_F(TrackedContainersTest, ProvidersCanBeParts) {
  std::map<std::string, Momentum> value;
  value["a"].step("w", 3);
  save(value);
  std::map<std::string, Momentum> fresh;
  restore(fresh);
  EXPECT_EQ(fresh["a"].by_name, value["a"].by_name);
}

// Lists a part that it does not make, or makes none.
struct BadProvider {
  bool lists_more = false;
  float number = 0, more = 0;
  void make(const StoredParts&) {}
  void track(Tracker& tracker) {
    if (lists_more)
      tracker("number", number)("more", more);
    else
      tracker("other", more);
  }
};

TEST_F(TrackedContainersTest, ProvidersMustListWhatIsStored) {
  write({{"value/number", Tensor::scalar(1.0F)}});
  BadProvider more{true};
  EXPECT_THAT([&] { restore(more); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"value/more\" is not stored")));
  BadProvider other{false};
  EXPECT_THROW(restore(other), InvalidArgumentError);
}

TEST_F(TrackedContainersTest, RejectsAPartThatIsListedTwice) {
  struct Twice {
    float a = 0;
    void track(Tracker& tracker) { tracker("a", a)("a", a); }
  };
  std::vector<Twice> value(1);
  EXPECT_THAT([&] { save(value); }, ThrowsMessage<AlreadyExistsError>(HasSubstr("\"value/a\"")));
}

struct Ring {
  std::shared_ptr<Ring> next;
  void track(Tracker& tracker) { tracker("next", next); }
};

TEST_F(TrackedContainersTest, RejectsACycleOfPointers) {
  auto ring = std::make_shared<Ring>();
  ring->next = ring;
  EXPECT_THAT([&] { save(ring); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("a cycle of pointers")));
  ring->next.reset();
}

TEST_F(TrackedContainersTest, RejectsNamesThatAreNestedTooDeep) {
  std::string name = "value";
  for (int i = 0; i < 100'000; ++i) name += "/next";
  write({{name + "/%null", Tensor::scalar(true)}});
  std::shared_ptr<Ring> ring;
  EXPECT_THROW(restore(ring), FailedPreconditionError);
  EXPECT_EQ(ring, nullptr);
}

TEST_F(TrackedContainersTest, ListsAllMismatchesAndChangesNothing) {
  write({{"value/0/weights", Tensor::from<float>({1})},
         {"value/1/weights", Tensor::from<double>({1})},
         {"value/1/bias", Tensor::scalar(1.0F)},
         {"value/2/bias", Tensor::zeros<float>({2})},
         {"value/2/weights", Tensor::from<float>({1})},
         {"value/7/bias", Tensor::scalar(1.0F)},
         {"value/x", Tensor::scalar(1.0F)}});
  std::vector<Layer> value(1);
  EXPECT_THAT([&] { restore(value); },
              ThrowsMessage<InvalidArgumentError>(AllOf(
                  HasSubstr("Key value/0/bias not found in checkpoint"),
                  HasSubstr("\"value/1/weights\" is float64 [1] in the checkpoint and float32 [?]"),
                  HasSubstr("\"value/2/bias\" is float32 [2] in the checkpoint and float32 []"),
                  HasSubstr("\"value/7/bias\" (float32 []) is not in the program"),
                  HasSubstr("\"value/x\" (float32 []) is not in the program"))));
  EXPECT_EQ(value.size(), 1);
  EXPECT_THAT(value[0].weights, IsEmpty());
}

TEST_F(TrackedContainersTest, AppliesOptionsToEachPart) {
  write({{"value/0/w", Tensor::from<double>({1, 2})},
         {"value/0/bias", Tensor::zeros<float>({1})},
         {"value/1/w", Tensor::from<double>({3, 4})},
         {"value/1/old", Tensor::zeros<float>({1})}});
  std::vector<Layer> value(1);
  value[0].bias = 7;
  const RestoreReport report = restore(value, {.rename = {{"value/*/weights", "value/*/w"}},
                                               .allow_missing = {"value/1/bias"},
                                               .allow_surplus = {"*/old"},
                                               .reshape = {"value/*/bias"},
                                               .convert_dtype = {"*/weights"}});
  ASSERT_EQ(value.size(), 2);
  EXPECT_THAT(value[0].weights, ElementsAre(1, 2));
  EXPECT_EQ(value[0].bias, 0);
  EXPECT_THAT(value[1].weights, ElementsAre(3, 4));
  EXPECT_THAT(report.restored, UnorderedElementsAre("global_step", "value/0/weights",
                                                    "value/0/bias", "value/1/weights"));
  EXPECT_THAT(report.missing, ElementsAre("value/1/bias"));
  EXPECT_THAT(report.surplus, ElementsAre("value/1/old"));
  EXPECT_THAT(report.reshaped, ElementsAre("value/0/bias"));
  EXPECT_THAT(report.converted, ElementsAre("value/0/weights", "value/1/weights"));
  EXPECT_THAT(report.renamed, UnorderedElementsAre(Pair("value/0/weights", "value/0/w"),
                                                   Pair("value/1/weights", "value/1/w")));
}

TEST_F(TrackedContainersTest, RestoresARenamedContainer) {
  write({{"old/a/numbers", Tensor::from<int>({1, 2})}, {"old/b/numbers", Tensor::from<int>({3})}});
  struct Numbers {
    std::list<int> numbers;
    void track(Tracker& tracker) { tracker("numbers", numbers); }
  };
  std::map<std::string, Numbers> value;
  EXPECT_THAT([&] { restore(value); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("Key value not found")));
  const RestoreReport report = restore(value, {.rename = {{"value", "old"}}});
  EXPECT_THAT(value["a"].numbers, ElementsAre(1, 2));
  EXPECT_THAT(value["b"].numbers, ElementsAre(3));
  EXPECT_THAT(report.renamed, testing::Contains(Pair("value/a/numbers", "old/a/numbers")));
  std::map<std::string, Numbers> parts;
  restore(parts, {.rename = {{"value/*", "old/*"}}});
  EXPECT_THAT(parts["b"].numbers, ElementsAre(3));
}

TEST_F(TrackedContainersTest, AnAbsentContainerIsMissing) {
  write({});
  std::vector<Layer> value(2);
  EXPECT_THAT([&] { restore(value); },
              ThrowsMessage<NotFoundError>(HasSubstr("Key value not found")));
  const RestoreReport report = restore(value, {.allow_missing = {"value"}});
  EXPECT_THAT(report.missing, ElementsAre("value"));
  EXPECT_EQ(value.size(), 2);
}

TEST_F(TrackedContainersTest, LoadsSomeParts) {
  std::map<std::string, Layer> value = {{"a", {{1}, 2}}, {"b", {{3}, 4}}};
  save(value);
  std::map<std::string, Layer> all = {{"c", {}}};
  load("run/ckpt-1", {{"value", all}}, &files_);
  EXPECT_THAT(all, UnorderedElementsAre(Key("a"), Key("b")));
  std::map<std::string, Layer> some = {{"c", {}}};
  load({.from = "run/ckpt-1", .only = {"value/b/*"}}, {{"value", some}}, &files_);
  EXPECT_THAT(some, UnorderedElementsAre(Key("b"), Key("c")));
  EXPECT_EQ(some["b"].bias, 4);
  std::map<std::string, Layer> whole;
  load({.from = "run/ckpt-1", .only = {"value"}}, {{"value", whole}}, &files_);
  EXPECT_EQ(whole.size(), 2);
  Layer one;  // A part, as a value of its own.
  load("run/ckpt-1", {{"value/b", one}}, &files_);
  EXPECT_EQ(one.bias, 4);

  std::vector<Layer> list = {{{1}, 2}, {{3}, 4}, {{5}, 6}};
  save(list);
  std::vector<Layer> some_of_list(3);
  load({.from = "run/ckpt-1", .only = {"value/1/bias"}}, {{"value", some_of_list}}, &files_);
  EXPECT_EQ(some_of_list.size(), 3);
  EXPECT_EQ(some_of_list[1].bias, 4);
  EXPECT_EQ(some_of_list[2].bias, 0);
}

TEST_F(TrackedContainersTest, FiltersSelectPartsForSaving) {
  std::vector<Layer> value(2);
  Program program(tracked(value));
  Saver saver(
      {.filter = [](std::string_view name) { return name.ends_with("bias"); }, .files = &files_});
  saver.save(*program.session, "run/ckpt", 1);
  EXPECT_THAT(names(), ElementsAre("value/0/bias", "value/1/bias"));
}

TEST_F(TrackedContainersTest, SurvivesHostileCheckpoints) {
  using Tensors = std::vector<std::pair<std::string, Tensor>>;
  const Tensor one = Tensor::scalar(1.0F);
  const auto check = [&]<typename T>(T value, const Tensors& tensors, const T& expected) {
    write(tensors);
    EXPECT_THROW(restore(value), Error) << tensors[0].first;
    EXPECT_EQ(value, expected) << tensors[0].first;
  };
  const auto check_unchanged = [&](const auto& value, const Tensors& tensors) {
    check(value, tensors, value);
  };
  using Lists = std::vector<std::vector<float>>;
  const Lists lists = {{1}, {2, 3}};
  check_unchanged(lists, {{"value/1152921504606846976", Tensor::from<float>({1})}});
  check_unchanged(lists,
                  {{"value/0", Tensor::from<float>({1})}, {"value/%empty", Tensor::scalar(true)}});
  check_unchanged(lists, {{"value/0", Tensor::zeros<float>({2, 2})}});
  check_unchanged(lists, {{"value/0", Tensor::from({"text"})}});
  check_unchanged(lists, {{"value", one}});
  check_unchanged(lists, {{"value/-1", one}, {"value/01", one}});
  check_unchanged(lists, {{"value/0/0", one}});
  check_unchanged(lists, {{"value//", one}, {"value/", one}});

  using Map = std::map<std::string, std::vector<float>>;
  const Map map = {{"a", {1}}};
  check_unchanged(map, {{"value/%zz", Tensor::from<float>({1})}});
  check_unchanged(map, {{"value/%2f", Tensor::from<float>({1})}});
  check_unchanged(map, {{"value/a", Tensor::from<float>({1})}, {"value/a/b", one}});

  using Flat = std::map<int, float>;
  const Flat flat = {{1, 2}};
  const auto keys = [](const Tensor& keys, const Tensor& values) {
    return Tensors{{"value/keys", keys}, {"value/values", values}};
  };
  check_unchanged(flat, keys(Tensor::from<int>({1, 2}), Tensor::from<float>({1})));
  check_unchanged(flat, keys(Tensor::from<int>({1, 1}), Tensor::from<float>({1, 2})));
  check_unchanged(flat, keys(Tensor::from<int64_t>({1}), Tensor::from<float>({1})));
  check_unchanged(flat, keys(Tensor::zeros<int>({1, 1}), Tensor::zeros<float>({1, 1})));
  check_unchanged(flat, {{"value/keys", Tensor::from<int>({1})}});
  check_unchanged(flat, {{"value", Tensor::from<int>({1})}});

  using Maybe = std::optional<float>;
  check_unchanged(Maybe(2.0F), {{"value", one}, {"value/%null", Tensor::scalar(true)}});
  check_unchanged(Maybe(), {{"value", Tensor::scalar(1.0)}});
  check_unchanged(Maybe(), {{"value/value", one}});

  using Either = std::variant<int, float>;
  check_unchanged(Either(5), {{"value/2", one}});
  check_unchanged(Either(5), {{"value/1152921504606846976", one}});
  check_unchanged(Either(5), {{"value/0", Tensor::scalar(1)}, {"value/1", one}});
  check_unchanged(Either(5), {{"value/1", Tensor::scalar(true)}});

  using Keyed = std::map<std::pair<int, int>, float>;
  const Keyed keyed = {{{1, 2}, 3.0F}};
  check_unchanged(keyed, {{"value/keys/0/first", Tensor::scalar(1)}, {"value/values/0", one}});
  using Pairs = std::set<std::pair<int, int>>;
  check_unchanged(Pairs{{1, 2}}, {{"value/0/first", Tensor::scalar(1)}});

  Tensor bools = Tensor::zeros<bool>({4});
  bools.mutable_bytes()[2] = std::byte{7};
  check_unchanged(std::vector<std::array<bool, 2>>{{true, true}},
                  {{"value", Tensor::zeros<bool>({2, 3})}});
  std::vector<std::unique_ptr<std::array<bool, 4>>> flags;
  write({{"value/0", bools}});
  EXPECT_THROW(restore(flags), InvalidArgumentError);
}

// The keys of a map are known only when they are read: the value may be changed, but nothing else
// happens.
TEST_F(TrackedContainersTest, RejectsKeysThatDoNotMatchTheirValues) {
  std::map<std::pair<int, int>, float> value;
  write({{"value/keys/0/first", Tensor::scalar(1)},
         {"value/keys/0/second", Tensor::scalar(1)},
         {"value/keys/1/first", Tensor::scalar(1)},
         {"value/keys/1/second", Tensor::scalar(1)},
         {"value/values/0", Tensor::scalar(1.0F)},
         {"value/values/1", Tensor::scalar(1.0F)}});
  EXPECT_THROW(restore(value), InvalidArgumentError);
  write({{"value/keys/0/first", Tensor::scalar(1)},
         {"value/keys/0/second", Tensor::scalar(1)},
         {"value/values/0", Tensor::scalar(1.0F)},
         {"value/values/1", Tensor::scalar(1.0F)}});
  EXPECT_THROW(restore(value), InvalidArgumentError);
}

// A program in two parts: what a container owns is copied between the steps, so `compute` may
// change it.
TEST_F(TrackedContainersTest, ComputeMayChangeWhatContainersOwn) {
  constexpr size_t kSize = 1 << 18;
  std::vector<Layer> layers(2, Layer{std::vector<float>(kSize), 0, 0});
  LoopOptions options{.checkpoint = {.dir = "run", .every_steps = 1, .saver = {.max_to_keep = 0}},
                      .summaries = {.every_steps = 0},
                      .hooks = {StopAtStepHook({.last_step = 5})},
                      .debug = {.check_torn_snapshots = true},
                      .files = &files_};
  float fixed[kSize / 4] = {};
  Loop loop(options);
  loop.track("layers", layers);
  loop.track("fixed", fixed);
  const RunReport report = loop.run(
      [&](const Step& step) {
        for (Layer& layer : layers) layer.weights.assign(kSize, static_cast<float>(step.number()));
        layers.resize(1 + layers.size() % 3, layers[0]);
      },
      [&](const Step& step) { fixed[0] = static_cast<float>(step.number()); });
  EXPECT_EQ(report.failed_saves, 0);
  for (int64_t step = 1; step <= 5; ++step) {
    const CheckpointReader reader(fmt::format("run/model.ckpt-{}", step), files_);
    const Tensor weights = reader.read("layers/0/weights");
    EXPECT_EQ(std::ranges::count(weights.flat<float>(), static_cast<float>(step)), kSize);
    const Tensor numbers = reader.read("fixed");
    EXPECT_EQ(numbers.flat<float>()[0], static_cast<float>(step));
  }
}

// In the same process, an older state may have other parts.
TEST_F(TrackedContainersTest, ARecoveryRestoresTheStructure) {
  std::map<std::string, Layer> value;
  bool has_failed = false;
  Loop loop({.checkpoint = {.dir = "run", .every_steps = 2},
             .summaries = {.every_steps = 0},
             .hooks = {StopAtStepHook({.last_step = 5})},
             .files = &files_});
  loop.track("value", value);
  const RunReport report = loop.run([&](const Step& step) {
    value[fmt::format("{}", step.number())].bias = static_cast<float>(step.number());
    if (step.number() == 4 && !std::exchange(has_failed, true)) {
      value.erase("1");
      value["x"];
      throw AbortedError("lost");
    }
  });
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_THAT(value, UnorderedElementsAre(Key("1"), Key("2"), Key("3"), Key("4"), Key("5")));
}

TEST_F(TrackedContainersTest, ARunContinuesFromWhatItRestoredEarly) {
  const auto options = [&](int64_t last_step) {
    return LoopOptions{.checkpoint = {.dir = "run"},
                       .summaries = {.every_steps = 0},
                       .hooks = {StopAtStepHook({.last_step = last_step})},
                       .files = &files_};
  };
  std::vector<Layer> value(2);
  {
    Loop loop(options(1));
    loop.track("value", value);
    loop.run([] {});
  }
  std::vector<Layer> other;
  Loop loop(options(2));
  loop.track("value", other);
  EXPECT_EQ(loop.restore(), 1);
  EXPECT_EQ(other.size(), 2);
  other.resize(3);  // Kept.
  loop.run([&] { EXPECT_EQ(other.size(), 3); });
}

TEST_F(TrackedContainersTest, AnEvaluatorFollowsAContainerThatGrows) {
  std::map<std::string, Layer> seen;
  Evaluator evaluator(
      {.checkpoint_dir = "run", .checkpoints = {.files = &files_}, .max_number_of_evaluations = 1});
  evaluator.track("layers", seen);
  for (int64_t last_step = 1; last_step <= 3; ++last_step) {
    std::map<std::string, float> rates;
    std::map<std::string, Layer> layers;
    Loop loop({.checkpoint = {.dir = "run"},
               .summaries = {.every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = last_step})},
               .files = &files_});
    loop.track("rates", rates);
    loop.track("layers", layers);
    loop.run([&](const Step& step) {
      layers[fmt::format("{}", step.number())];
      rates["a"] = 1;
    });
    evaluator.run([&] {
      EXPECT_EQ(seen.size(), last_step);
      return Metrics{};
    });
  }
}

}  // namespace
}  // namespace crochet::tracked_containers
