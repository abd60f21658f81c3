// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a restore does to containers that have other entries in the checkpoint.
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/tracking/tracker.h"
#include "tests/support/restores_test.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

struct Species {
  double mass = 0;
  std::vector<double> x;
  void track(Tracker& tracker) { tracker("mass", mass)("x", x); }
  friend bool operator==(const Species&, const Species&) = default;
};

class ChangedStructureTest : public RestoresTest {
 protected:
  ChangedStructureTest() : RestoresTest("s") {}
};

using Map = std::map<std::string, Species>;

TEST_F(ChangedStructureTest, DroppedEntriesAreReportedWithTheOptionThatKeepsThem) {
  save(Map{{"electron", {1, {}}}});
  const Map now{{"electron", {}}, {"muon", {5, {}}}, {"photon", {7, {1}}}};
  EXPECT_THAT(restored(now), ElementsAre(testing::Key("electron")));
  EXPECT_THAT(report_.dropped, ElementsAre("s/muon", "s/photon"));
  EXPECT_TRUE(log_.contains(
      "run/model.ckpt-2: the checkpoint's structure replaces that of this program: 2 entries "
      "dropped (\"s/muon\", \"s/photon\"), which .restore = {.allow_missing = {\"s/*\"}} keeps"));
  const Map kept = restored(now, {.allow_missing = {"s/*"}});
  EXPECT_EQ(kept, (Map{{"electron", {1, {}}}, {"muon", {5, {}}}, {"photon", {7, {1}}}}));
  EXPECT_THAT(report_.dropped, IsEmpty());
  EXPECT_THAT(report_.missing,
              ElementsAre("s/muon/mass", "s/muon/x", "s/photon/mass", "s/photon/x"));
}

TEST_F(ChangedStructureTest, AnOptionMayKeepOneEntry) {
  save(Map{{"electron", {1, {}}}});
  const Map now{{"electron", {}}, {"muon", {5, {}}}, {"photon", {7, {1}}}};
  EXPECT_EQ(restored(now, {.allow_missing = {"s/photon/*"}}),
            (Map{{"electron", {1, {}}}, {"photon", {7, {1}}}}));
  EXPECT_THAT(report_.dropped, ElementsAre("s/muon"));
}

TEST_F(ChangedStructureTest, ANameWithoutAStarIsAllBeneathIt) {
  save(Map{{"electron", {1, {}}}, {"neutron", {2, {}}}});
  const Map now{{"electron", {}}, {"muon", {5, {}}}};
  EXPECT_EQ(restored(now, {.allow_missing = {"s/muon"}, .allow_surplus = {"s/neutron"}}),
            (Map{{"electron", {1, {}}}, {"muon", {5, {}}}}));
  EXPECT_EQ(restored(now, {.keep = {"s/electron"}}), (Map{{"electron", {}}, {"neutron", {2, {}}}}));
  EXPECT_EQ(restored(now, {.keep = {"s"}, .allow_surplus = {"s"}}), now);
}

TEST_F(ChangedStructureTest, EntriesOfFlatContainersThatStayOrAreLeftOutAreReported) {
  using Flat = std::map<std::string, double>;
  save(Flat{{"a", 1}, {"b", 2}});
  const Flat now{{"a", 0}, {"c", 7}};
  EXPECT_EQ(restored(now, {.allow_missing = {"s/c"}, .allow_surplus = {"s/b"}}),
            (Flat{{"a", 1}, {"c", 7}}));
  EXPECT_THAT(report_.missing, ElementsAre("s/c"));
  EXPECT_THAT(report_.surplus, ElementsAre("s/b"));
  EXPECT_EQ(restored(now, {.keep = {"s/c"}}), (Flat{{"a", 1}, {"b", 2}, {"c", 7}}));
  EXPECT_THAT(report_.kept, ElementsAre("s/c"));
}

TEST_F(ChangedStructureTest, APatternOfOneMemberKeepsNoEntry) {
  save(Map{{"electron", {1, {}}}});
  EXPECT_EQ(restored(Map{{"photon", {7, {}}}}, {.allow_missing = {"s/*/mass"}}),
            (Map{{"electron", {1, {}}}}));
}

TEST_F(ChangedStructureTest, MadeEntriesAreReportedWithTheOptionThatLeavesThemOut) {
  save(Map{{"electron", {1, {}}}, {"photon", {7, {1}}}});
  EXPECT_EQ(restored(Map{{"electron", {}}}), (Map{{"electron", {1, {}}}, {"photon", {7, {1}}}}));
  EXPECT_THAT(report_.made, ElementsAre("s/photon"));
  EXPECT_TRUE(
      log_.contains("1 entry made (\"s/photon\"), which .restore = {.allow_surplus = "
                    "{\"s/*\"}} leaves out"));
  EXPECT_EQ(restored(Map{{"electron", {}}}, {.allow_surplus = {"s/*"}}),
            (Map{{"electron", {1, {}}}}));
  EXPECT_THAT(report_.surplus, ElementsAre("s/photon/mass", "s/photon/x"));
}

// It would lose data that has grown, in each program that leaves it on.
TEST_F(ChangedStructureTest, AllowSurplusForAllNamesLeavesOutNoEntries) {
  save(std::vector<Species>(3));
  EXPECT_EQ(restored(std::vector<Species>(1), {.allow_surplus = true}).size(), 3);
}

TEST_F(ChangedStructureTest, AnEmptyContainerIsFilledWithoutALine) {
  save(std::vector<Species>(3));
  EXPECT_EQ(restored(std::vector<Species>()).size(), 3);
  EXPECT_THAT(report_.made, ElementsAre("s"));
  EXPECT_FALSE(log_.contains("structure replaces"));
}

template <typename T>
struct Case {
  T stored;
  T present;
  T both;  // What is stored, and what the program has in addition.
  std::vector<std::string> dropped;
};

template <typename T>
class Containers : public ChangedStructureTest {};

struct Maps {
  using T = std::unordered_map<std::string, std::vector<double>>;
  static Case<T> value() {
    return {{{"a", {1}}}, {{"a", {0}}, {"b", {7}}}, {{"a", {1}}, {"b", {7}}}, {"s/b"}};
  }
};
struct FlatMaps {
  using T = std::map<std::string, double>;
  static Case<T> value() {
    return {{{"a", 1}}, {{"a", 0}, {"b", 7}}, {{"a", 1}, {"b", 7}}, {"s/b"}};
  }
};
struct NumberedMaps {
  using T = std::unordered_map<int, int64_t>;
  static Case<T> value() { return {{{3, 1}}, {{3, 0}, {-4, 7}}, {{3, 1}, {-4, 7}}, {"s/-4"}}; }
};
struct Vectors {
  using T = std::vector<Species>;
  static Case<T> value() { return {{{1, {}}}, {{0, {}}, {7, {2}}}, {{1, {}}, {7, {2}}}, {"s/1"}}; }
};
struct Deques {
  using T = std::deque<Species>;
  static Case<T> value() { return {{{1, {}}}, {{0, {}}, {7, {2}}}, {{1, {}}, {7, {2}}}, {"s/1"}}; }
};
struct Sets {
  using T = std::set<std::string>;
  static Case<T> value() { return {{"a"}, {"a", "b"}, {"a", "b"}, {"s/b"}}; }
};
struct EmptyMaps {
  using T = Map;
  static Case<T> value() { return {{}, {{"b", {7, {}}}}, {{"b", {7, {}}}}, {"s/b"}}; }
};
struct Optionals {
  using T = std::optional<Species>;
  static Case<T> value() { return {std::nullopt, Species{7, {1}}, Species{7, {1}}, {"s"}}; }
};
struct OptionalNumbers {
  using T = std::optional<double>;
  static Case<T> value() { return {std::nullopt, 7, 7, {"s"}}; }
};

using Kinds = testing::Types<Maps, FlatMaps, NumberedMaps, Vectors, Deques, Sets, EmptyMaps,
                             Optionals, OptionalNumbers>;
TYPED_TEST_SUITE(Containers, Kinds);

TYPED_TEST(Containers, DropAndReportWhatTheCheckpointLacks) {
  const auto values = TypeParam::value();
  this->save(values.stored);
  EXPECT_EQ(this->restored(values.present), values.stored);
  EXPECT_EQ(this->report_.dropped, values.dropped);
  EXPECT_TRUE(this->log_.contains("1 entry dropped"));
}

TYPED_TEST(Containers, KeepWhatTheCheckpointMayLack) {
  const auto values = TypeParam::value();
  for (const NamePatterns& patterns : {NamePatterns(true), NamePatterns{"s*"}}) {
    this->save(values.stored);
    EXPECT_EQ(this->restored(values.present, {.allow_missing = patterns}), values.both);
    EXPECT_THAT(this->report_.dropped, IsEmpty());
  }
}

TYPED_TEST(Containers, ThatAreFixedRefuseWhatDiffers) {
  const auto values = TypeParam::value();
  const auto restore = [&](auto value) {
    auto container = fixed(value);
    this->run({}, container);
  };
  this->save(values.stored);
  EXPECT_THROW(restore(values.present), Error);
  restore(values.stored);
  this->save(values.both);
  EXPECT_THROW(restore(values.stored), Error);
}

TEST_F(ChangedStructureTest, AFixedContainerNamesWhatDiffersAndTheOption) {
  save(std::vector<Species>(1));
  std::vector<Species> two(2);
  two[1].mass = 7;
  auto value = fixed(two);
  EXPECT_THAT([&] { run({}, value); },
              ThrowsMessage<NotFoundError>(
                  HasSubstr("Start with .restore = {.allow_missing = {\"s/1/mass\", \"s/1/x\"}}")));
  EXPECT_EQ(two.size(), 2) << "nothing is changed";
  run({.allow_missing = {"s/1/mass", "s/1/x"}}, value);
  EXPECT_EQ(two.size(), 2);
  EXPECT_EQ(two[1].mass, 7);
}

TEST_F(ChangedStructureTest, SizesWithinAFixedContainerAreFixed) {
  save(std::vector<Species>{{1, {1, 2, 3}}});
  std::vector<Species> other{{0, {0}}};
  auto value = fixed(other);
  EXPECT_THAT([&] { run({}, value); }, ThrowsMessage<InvalidArgumentError>(HasSubstr("\"s/0/x\"")));
}

TEST_F(ChangedStructureTest, StructsThatGainAMemberAreErrors) {
  struct Old {
    double mass = 0;
    void track(Tracker& tracker) { tracker("mass", mass); }
  };
  save(std::vector<Old>(2));
  EXPECT_THROW(restored(std::vector<Species>(2)), NotFoundError);
  EXPECT_EQ(restored(std::vector<Species>(2), {.allow_missing = {"s/x"}}).size(), 2);
}

TEST_F(ChangedStructureTest, OnlySelectedEntriesAreRestored) {
  save(Map{{"electron", {1, {}}}, {"photon", {7, {}}}});
  Map now{{"electron", {2, {}}}, {"muon", {3, {}}}};
  load(RestoreOptions{.from = "run", .only = {"s/photon/*"}}, {{"s", now}}, files_.get());
  EXPECT_EQ(now, (Map{{"electron", {2, {}}}, {"muon", {3, {}}}, {"photon", {7, {}}}}));
}

TEST_F(ChangedStructureTest, KeepsTheProgramsValuesOfParts) {
  save(Map{{"electron", {1, {1}}}, {"photon", {7, {1}}}});
  EXPECT_EQ(restored(Map{{"electron", {2, {}}}}, {.keep = {"s/*/mass"}}),
            (Map{{"electron", {2, {1}}}, {"photon", {7, {1}}}}))
      << "an entry that is made has none to keep";
  EXPECT_THAT(report_.kept, ElementsAre("s/electron/mass"));
}

// Plans its parts: a weight, and a moment that only a run that has stepped has.
struct Planned {
  double weight = 0;
  std::optional<double> moment;
  void track(Tracker& tracker) {
    tracker.add_provider({.list =
                              [this](Tracker& here) {
                                here("weight", weight);
                                if (moment) here("moment", *moment);
                              },
                          .plan =
                              [](const StoredParts& stored) {
                                std::vector<StatePart> parts{
                                    {.key = "weight", .dtype = DType::kDouble}};
                                if (stored.find("moment") != nullptr)
                                  parts.push_back({.key = "moment", .dtype = DType::kDouble});
                                return parts;
                              },
                          .make =
                              [this](const StoredParts& stored, const StoredParts& read) {
                                if (stored.find("moment") == nullptr) moment.reset();
                                if (read.find("moment") != nullptr) moment.emplace();
                              }});
  }
  friend bool operator==(const Planned&, const Planned&) = default;
};
using PlannedMap = std::map<std::string, Planned>;

TEST_F(ChangedStructureTest, WhatPlansItsPartsGetsThemWithoutAReport) {
  save(PlannedMap{{"a", {1, 2}}});
  EXPECT_EQ(restored(PlannedMap{{"a", {}}}, {.allow_surplus = {"s/*"}}),
            (PlannedMap{{"a", {1, 2}}}));
  EXPECT_THAT(report_.made, IsEmpty());
  EXPECT_FALSE(log_.contains("structure"));
}

TEST_F(ChangedStructureTest, WhatPlansItsPartsIsAnEntryAsAWhole) {
  save(PlannedMap{{"a", {1, 2}}});
  const PlannedMap now{{"a", {}}, {"b", {3, 4}}};
  EXPECT_EQ(restored(now), (PlannedMap{{"a", {1, 2}}}));
  EXPECT_THAT(report_.dropped, ElementsAre("s/b"));
  EXPECT_EQ(restored(now, {.allow_missing = {"s/*"}}), (PlannedMap{{"a", {1, 2}}, {"b", {3, 4}}}));
  EXPECT_EQ(restored(PlannedMap{{"a", {3, 4}}}, {.keep = {"s/*"}}), (PlannedMap{{"a", {3, 4}}}));
  auto fixed_now = now;
  EXPECT_THROW(restored(fixed(fixed_now)), NotFoundError);
}

// Each kind of value whose size a restore changes.
TEST_F(ChangedStructureTest, OtherSizesAreReported) {
  struct Sized {
    std::vector<float> vector;
    std::deque<int> deque;
    std::list<double> list;
    std::vector<bool> flags;
    std::vector<std::string> words;
    std::vector<std::vector<int>> nested;
    Tensor tensor;
    void track(Tracker& tracker) {
      tracker("vector", vector)("deque", deque)("list", list)("flags", flags)("words", words);
      tracker("nested", nested)("tensor", tensor);
    }
  };
  const auto sized = [](size_t n) {
    return Sized{std::vector<float>(n),
                 std::deque<int>(n),
                 std::list<double>(n),
                 std::vector<bool>(n),
                 std::vector<std::string>(n),
                 {std::vector<int>(n)},
                 Tensor::zeros<float>({static_cast<int64_t>(n)})};
  };
  save(sized(3));
  restored(sized(5));
  std::vector<std::string> names;
  for (const ResizedValue& each : report_.resized) {
    names.push_back(each.name);
    EXPECT_EQ(each.now, Shape({3}));
    EXPECT_EQ(each.before, Shape({5}));
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("s/vector", "s/deque", "s/list", "s/flags",
                                                   "s/words", "s/nested/0", "s/tensor"));
  EXPECT_TRUE(log_.contains("\"s/vector\" (3 elements, was 5)"));
}

}  // namespace
}  // namespace crochet
