// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Options of a restore for values that are one value to them: maps and sets whose keys have parts,
// sequences that are stored as columns, and variants.
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
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

using IntPair = std::pair<int, int>;
using LongPair = std::pair<int64_t, int64_t>;

struct Solid {
  double mass = 0;
  std::vector<double> x;
  void track(Tracker& tracker) { tracker("mass", mass)("x", x); }
  friend bool operator==(const Solid&, const Solid&) = default;
};

class WholeValuesTest : public RestoresTest {
 protected:
  WholeValuesTest() : RestoresTest("v") {}
};

template <typename T>
struct Difference {
  T stored;
  T present;
};

template <typename T>
class KeyedContainers : public WholeValuesTest {};

struct SetsOfPairs {
  static Difference<std::set<IntPair>> value() { return {{{1, 2}}, {{7, 8}, {9, 9}}}; }
};
struct SetsOfPairsOfOneSize {
  static Difference<std::set<IntPair>> value() { return {{{1, 2}}, {{7, 8}}}; }
};
struct SmallerSetsOfPairs {
  static Difference<std::set<IntPair>> value() { return {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}}}; }
};
struct SetsOfVectors {
  static Difference<std::set<std::vector<int>>> value() { return {{{1}}, {{7}, {8, 8}}}; }
};
struct SetsOfVectorsOfOneSize {
  static Difference<std::set<std::vector<int>>> value() { return {{{1, 2}}, {{3, 4}}}; }
};
struct EmptySetsOfVectors {
  static Difference<std::set<std::vector<int>>> value() { return {{}, {{3, 4}}}; }
};
struct MapsOfPairs {
  static Difference<std::map<IntPair, int>> value() { return {{{{1, 2}, 1}}, {{{7, 8}, 5}}}; }
};
struct SmallerMapsOfPairs {
  static Difference<std::map<IntPair, int>> value() {
    return {{{{1, 2}, 1}, {{3, 4}, 2}}, {{{7, 8}, 5}}};
  }
};
struct LargerMapsOfPairs {
  static Difference<std::map<IntPair, int>> value() {
    return {{{{1, 2}, 1}}, {{{1, 2}, 5}, {{3, 4}, 6}}};
  }
};
struct Multimaps {
  static Difference<std::multimap<int, Solid>> value() {
    return {{{1, {1, {1}}}}, {{1, {7, {7}}}, {1, {8, {8, 8}}}}};
  }
};
struct MapsOfNumbers {
  static Difference<std::map<double, Solid>> value() {
    return {{{1.5, {1, {1}}}}, {{7.5, {7, {7}}}}};
  }
};

using KeyedKinds =
    testing::Types<SetsOfPairs, SetsOfPairsOfOneSize, SmallerSetsOfPairs, SetsOfVectors,
                   SetsOfVectorsOfOneSize, EmptySetsOfVectors, MapsOfPairs, SmallerMapsOfPairs,
                   LargerMapsOfPairs, Multimaps, MapsOfNumbers>;
TYPED_TEST_SUITE(KeyedContainers, KeyedKinds);

TYPED_TEST(KeyedContainers, AreReplacedWithAReportAndTheOptionThatKeepsThem) {
  const auto values = TypeParam::value();
  this->save(values.stored);
  EXPECT_EQ(this->restored(values.present), values.stored);
  EXPECT_FALSE(this->report_.dropped.empty() && this->report_.made.empty());
  for (const auto& names : {this->report_.dropped, this->report_.made})
    EXPECT_THAT(names, testing::AnyOf(IsEmpty(), ElementsAre("v")));
  EXPECT_TRUE(this->log_.contains("entries of \"v\", which .restore = {.keep = {\"v\"}} keeps"));
  EXPECT_FALSE(this->log_.contains("allow_"));
  EXPECT_EQ(this->restored(values.present, {.keep = {"v"}}), values.present);
}

TYPED_TEST(KeyedContainers, ThatAreFixedAreRestoredAndRefuseWhatDiffers) {
  const auto values = TypeParam::value();
  const auto restore = [&](auto value) {
    auto container = fixed(value);
    this->run({}, container);
    return value;
  };
  this->save(values.stored);
  EXPECT_EQ(restore(values.stored), values.stored);
  EXPECT_THROW(restore(values.present), Error);
  this->save(values.present);
  EXPECT_THROW(restore(values.stored), Error);
}

TEST_F(WholeValuesTest, AFixedMapGetsTheStoredValues) {
  save(std::map<IntPair, int>{{{1, 2}, 1}, {{3, 4}, 2}});
  std::map<IntPair, int> value{{{1, 2}, 5}, {{3, 4}, 6}};
  auto container = fixed(value);
  run({}, container);
  EXPECT_THAT(value, ElementsAre(testing::Pair(IntPair(1, 2), 1), testing::Pair(IntPair(3, 4), 2)));
}

TEST_F(WholeValuesTest, AFixedSetSaysThatItsKeysAreOthers) {
  save(std::set<IntPair>{{1, 2}});
  std::set<IntPair> value{{7, 8}};
  auto container = fixed(value);
  EXPECT_THAT([&] { run({}, container); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("the stored keys are others than those of this program")));
}

TYPED_TEST(KeyedContainers, AreKeptAsAWhole) {
  const auto values = TypeParam::value();
  for (const NamePatterns& patterns :
       {NamePatterns(true), NamePatterns{"v/*"}, NamePatterns{"v"}}) {
    this->save(values.stored);
    EXPECT_EQ(this->restored(values.present, {.keep = patterns}), values.present);
    EXPECT_THAT(this->report_.dropped, IsEmpty());
    EXPECT_THAT(this->report_.made, IsEmpty());
    EXPECT_THAT(this->report_.missing, IsEmpty());
    EXPECT_FALSE(this->report_.kept.empty());
    EXPECT_FALSE(this->log_.contains("structure replaces"));
  }
}

// The checkpoint does not lack the container, nor does the program.
TYPED_TEST(KeyedContainers, AreReplacedWhateverMayBeMissing) {
  const auto values = TypeParam::value();
  this->save(values.stored);
  EXPECT_EQ(this->restored(values.present, {.allow_missing = {"v/*"}, .allow_surplus = {"v/*"}}),
            values.stored);
  EXPECT_TRUE(this->log_.contains("entries of \"v\""));
}

TYPED_TEST(KeyedContainers, AreFilledWithoutALine) {
  const auto values = TypeParam::value();
  this->save(values.present);
  EXPECT_EQ(this->restored(decltype(values.present)()), values.present);
  EXPECT_THAT(this->report_.made, ElementsAre("v"));
  EXPECT_EQ(this->restored(values.present), values.present);
  EXPECT_THAT(this->report_.made, IsEmpty());
  EXPECT_FALSE(this->log_.contains("structure replaces"));
}

TYPED_TEST(KeyedContainers, StayAsEntriesOfOthers) {
  const auto values = TypeParam::value();
  using Outer = std::map<std::string, decltype(values.present)>;
  this->save(Outer{{"a", values.stored}});
  const Outer now{{"a", values.stored}, {"b", values.present}};
  EXPECT_EQ(this->restored(now, {.allow_missing = {"v/b"}}), now);
  EXPECT_EQ(this->restored(now), (Outer{{"a", values.stored}}));
}

TEST_F(WholeValuesTest, AContainerOfWhichAPartIsKeptIsRefused) {
  save(std::map<IntPair, Solid>{{{1, 2}, {1, {1}}}});
  const std::map<IntPair, Solid> now{{{7, 8}, {7, {7}}}};
  EXPECT_THAT([&] { restored(now, {.keep = {"v/values/*/mass"}}); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("\"v\" is kept as a whole or not at all"),
                        HasSubstr("\"v/values/0/mass\""), HasSubstr(".keep = {\"v\"}"))));
  EXPECT_EQ(restored(now, {.keep = {"v"}}), now);
}

TEST_F(WholeValuesTest, KeysOfAnotherTypeKeepTheProgramsContainer) {
  save(std::set<IntPair>{{1, 2}, {3, 4}});
  const std::set<LongPair> set{{7, 8}};
  EXPECT_THAT([&] { restored(set); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"v/second\" as int32 [2], where this program has int64")));
  EXPECT_EQ(restored(set, {.allow_mismatched = {"v/first", "v/second"}}), set);
  EXPECT_THAT(report_.missing, ElementsAre("v/first", "v/second"));
  EXPECT_EQ(restored(set, {.allow_mismatched = {"v/first"}, .convert_dtype = {"v/second"}}), set);
  EXPECT_EQ(restored(set, {.convert_dtype = true}), (std::set<LongPair>{{1, 2}, {3, 4}}));
  save(std::map<IntPair, int>{{{1, 2}, 1}});
  const std::map<LongPair, int> map{{{7, 8}, 5}};
  EXPECT_EQ(restored(map, {.allow_mismatched = true}), map);
}

TEST_F(WholeValuesTest, KeysThatHaveGainedAMemberKeepTheProgramsContainer) {
  save(std::set<std::tuple<int, int>>{{1, 2}});
  const std::set<std::tuple<int, int, int>> now{{7, 8, 9}};
  EXPECT_THAT([&] { restored(now); },
              ThrowsMessage<NotFoundError>(HasSubstr(".allow_missing = {\"v/2\"}")));
  EXPECT_EQ(restored(now, {.allow_missing = {"v/2"}}), now);
}

struct OldSolid {
  double mass = 0;
  void track(Tracker& tracker) { tracker("mass", mass); }
};

TEST_F(WholeValuesTest, ValuesMayGainAMember) {
  save(std::map<IntPair, OldSolid>{{{1, 2}, {1}}, {{3, 4}, {2}}});
  EXPECT_EQ(restored(std::map<IntPair, Solid>{{{3, 4}, {7, {7}}}}, {.allow_missing = {"v/*/x"}}),
            (std::map<IntPair, Solid>{{{1, 2}, {1, {}}}, {{3, 4}, {2, {7}}}}));
}

// Only the names of parts of both are compared: the keys are the same.
TEST_F(WholeValuesTest, OtherSizesOfTheSameEntriesAreReported) {
  save(std::map<IntPair, Solid>{{{1, 2}, {1, {1}}}});
  restored(std::map<IntPair, Solid>{{{1, 2}, {1, {1, 2}}}});
  EXPECT_THAT(report_.resized, ElementsAre(ResizedValue{"v/values/0/x", {1}, {2}}));
  EXPECT_TRUE(log_.contains("entries of \"v\", which .restore = {.keep = {\"v\"}} keeps"));
  restored(std::map<IntPair, Solid>{{{7, 8}, {1, {1, 2}}}});
  EXPECT_THAT(report_.resized, IsEmpty()) << "of another entry";
}

TEST_F(WholeValuesTest, AKeptContainerNeedsNoDefaultConstructor) {
  struct Unmakeable {
    explicit Unmakeable(int value) : x(value) {}
    int x;
    void track(Tracker& tracker) { tracker("x", x); }
    bool operator==(const Unmakeable&) const = default;
  };
  save(std::map<IntPair, Unmakeable>{{{1, 2}, Unmakeable(1)}});
  const std::map<IntPair, Unmakeable> now{{{7, 8}, Unmakeable(5)}};
  EXPECT_EQ(restored(now, {.keep = {"v"}}), now);
}

using IntPairs = std::vector<IntPair>;

TEST_F(WholeValuesTest, ColumnsAreKeptByTheNameInTheLog) {
  save(IntPairs{{1, 1}, {2, 2}});
  const IntPairs now{{7, 7}, {8, 8}, {9, 9}};
  EXPECT_EQ(restored(now), (IntPairs{{1, 1}, {2, 2}}));
  EXPECT_THAT(report_.resized,
              ElementsAre(ResizedValue{"v/first", {2}, {3}}, ResizedValue{"v/second", {2}, {3}}));
  EXPECT_TRUE(log_.contains("which .restore = {.keep = {\"v\"}} keeps"));
  for (const NamePatterns& patterns :
       {NamePatterns{"v"}, NamePatterns{"v/*"}, NamePatterns{"v/first", "v/second"}}) {
    EXPECT_EQ(restored(now, {.keep = patterns}), now);
    EXPECT_THAT(report_.kept, ElementsAre("v/first", "v/second"));
    EXPECT_THAT(report_.resized, IsEmpty());
  }
}

TEST_F(WholeValuesTest, SomeColumnsAreKeptOnlyWithTheSameSize) {
  save(IntPairs{{1, 1}, {2, 2}});
  EXPECT_EQ(restored(IntPairs{{7, 7}, {8, 8}}, {.keep = {"v/first"}}), (IntPairs{{7, 1}, {8, 2}}));
  for (const IntPairs& now : {IntPairs{{7, 7}}, IntPairs{{7, 7}, {8, 8}, {9, 9}}})
    EXPECT_THAT([&] { restored(now, {.keep = {"v/first"}}); },
                ThrowsMessage<InvalidArgumentError>(
                    AllOf(HasSubstr("\"v/first\""), HasSubstr(".keep = {\"v\"}"))));
}

TEST_F(WholeValuesTest, ColumnsOfWhichNoneIsRestoredKeepTheirSize) {
  save(IntPairs{{1, 1}, {2, 2}});
  const std::vector<LongPair> now{{7, 7}, {8, 8}, {9, 9}};
  EXPECT_EQ(restored(now, {.allow_mismatched = {"v/*"}}), now);
  EXPECT_THAT(report_.missing, ElementsAre("v/first", "v/second"));
}

using NumberOrList = std::variant<int, std::vector<double>>;

TEST_F(WholeValuesTest, AnotherAlternativeIsReportedAndKeptByTheNameInTheLog) {
  save(NumberOrList(1));
  const NumberOrList now = std::vector<double>{7, 8};
  EXPECT_EQ(restored(now), NumberOrList(1));
  EXPECT_THAT(report_.dropped, ElementsAre("v"));
  EXPECT_THAT(report_.made, ElementsAre("v"));
  EXPECT_TRUE(log_.contains("entries of \"v\", which .restore = {.keep = {\"v\"}} keeps"));
  for (const NamePatterns& patterns :
       {NamePatterns(true), NamePatterns{"v"}, NamePatterns{"v/*"}}) {
    EXPECT_EQ(restored(now, {.keep = patterns}), now);
    EXPECT_THAT(report_.kept, testing::Contains("v/1"));
  }
}

TEST_F(WholeValuesTest, PartsOfTheSameAlternativeAreKeptOneByOne) {
  using Any = std::variant<int, Solid>;
  save(Any(Solid{1, {1}}));
  EXPECT_EQ(restored(Any(Solid{7, {7}}), {.keep = {"v/1/mass"}}), Any(Solid{7, {1}}));
  EXPECT_EQ(restored(Any(7), {.keep = {"v/1"}}), Any(Solid{1, {1}}));
}

TEST_F(WholeValuesTest, OtherPartsAreLoadedBesideThem) {
  struct SeenModel {
    std::set<IntPair> seen;
    double mass = 0;
    void track(Tracker& tracker) { tracker("seen", seen)("mass", mass); }
  };
  save(SeenModel{{{1, 2}}, 1});
  SeenModel now{{{7, 8}}, 7};
  load(RestoreOptions{.from = "run", .only = {"v/mass"}}, {{"v", now}}, files_.get());
  EXPECT_EQ(now.seen, (std::set<IntPair>{{7, 8}}));
  EXPECT_EQ(now.mass, 1);
}

TEST_F(WholeValuesTest, AReferenceToAValueCanBeLoadedItself) {
  const std::map<IntPair, int> stored = {{{1, 2}, 1}};
  save(stored);
  std::map<IntPair, int> now = {{{1, 2}, 7}};
  load(RestoreOptions{.from = "run"}, {{"v", fixed(now)}}, files_.get());
  EXPECT_EQ(now, stored);
  now = {};
  EXPECT_THROW(load(RestoreOptions{.from = "run"}, {{"v", fixed(now)}}, files_.get()), Error);
}

}  // namespace
}  // namespace crochet
