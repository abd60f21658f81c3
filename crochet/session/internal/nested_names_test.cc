// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/internal/nested_names.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

using internal::all_beneath;
using internal::full_name;
using internal::has_at;
using internal::is_any_at_or_above;
using internal::is_at;
using internal::is_beneath;
using testing::ElementsAre;
using testing::IsEmpty;

// "!" comes before "/", "0" after it.
const std::set<std::string, std::less<>> kNames = {"a", "a!", "a/b", "a/b/c", "a0", "e/f", "g//h"};

std::vector<std::string> at(std::string_view owner) {
  std::vector<std::string> names;
  internal::for_each_at(kNames, owner, [&](const std::string& name) { names.push_back(name); });
  return names;
}

std::vector<std::string> beneath(std::string_view owner) {
  const auto all = all_beneath(kNames, owner);
  return {all.begin(), all.end()};
}

TEST(NestedNamesTest, JoinsNames) {
  EXPECT_EQ(full_name("net", "w"), "net/w");
  EXPECT_EQ(full_name("net", ""), "net");
  EXPECT_EQ(full_name("", "w"), "w");
}

// Else equal names in two values would be one.
TEST(NestedNamesTest, ANameIsNotAPath) {
  EXPECT_EQ(full_name("net", "/w"), "net//w");
  EXPECT_EQ(full_name("net/", "w"), "net//w");
}

TEST(NestedNamesTest, FindsWhatLiesBeneath) {
  EXPECT_THAT(beneath("a"), ElementsAre("a/b", "a/b/c"));
  EXPECT_THAT(beneath("a!"), IsEmpty());
  EXPECT_THAT(beneath("e"), ElementsAre("e/f"));
  EXPECT_THAT(beneath("g"), ElementsAre("g//h"));
  EXPECT_EQ(beneath("").size(), kNames.size());
}

TEST(NestedNamesTest, FindsANameWithWhatLiesBeneath) {
  EXPECT_THAT(at("a"), ElementsAre("a", "a/b", "a/b/c"));
  EXPECT_THAT(at("e"), ElementsAre("e/f"));
  EXPECT_THAT(at("x"), IsEmpty());
  EXPECT_EQ(at("").size(), kNames.size());
}

TEST(NestedNamesTest, KnowsWhetherThereIsSomething) {
  EXPECT_TRUE(has_at(kNames, "a!"));
  EXPECT_TRUE(has_at(kNames, "e"));
  EXPECT_TRUE(has_at(kNames, ""));
  EXPECT_FALSE(has_at(kNames, "a/"));
  EXPECT_FALSE(has_at(kNames, "e/f/g"));
}

TEST(NestedNamesTest, ComparesWholeNames) {
  EXPECT_TRUE(is_beneath("a/b", "a"));
  EXPECT_TRUE(is_beneath("a", ""));
  EXPECT_FALSE(is_beneath("a", "a"));
  EXPECT_FALSE(is_beneath("ab", "a"));
  EXPECT_FALSE(is_beneath("a", "a/b"));
  EXPECT_TRUE(is_at("a", "a"));
  EXPECT_TRUE(is_at("a/b/c", "a/b"));
  EXPECT_FALSE(is_at("a/bc", "a/b"));
}

TEST(NestedNamesTest, AsksTheOwnersOfAName) {
  std::vector<std::string> asked;
  EXPECT_FALSE(is_any_at_or_above("a/b/c", [&](std::string_view name) {
    asked.emplace_back(name);
    return false;
  }));
  EXPECT_THAT(asked, ElementsAre("a/b/c", "a/b", "a"));
  EXPECT_TRUE(is_any_at_or_above("a/b", [](std::string_view name) { return name == "a"; }));
}

}  // namespace
}  // namespace crochet
