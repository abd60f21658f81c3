// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/internal/stored_names.h"
#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet {
namespace {

using internal::check_stored_names;
using internal::stored_name;

TEST(NamePatternsTest, MatchLikeTheShell) {
  const NamePatterns patterns = {"model/*", "step?", "[ab]"};
  for (const char* const name : {"model/w", "model/a/b", "model/", "steps", "a"})
    EXPECT_TRUE(patterns.match(name)) << name;
  for (const char* const name : {"model", "step", "c", "", "my/model/w"})
    EXPECT_FALSE(patterns.match(name)) << name;
}

TEST(NamePatternsTest, WithoutAStarMatchWhatIsBeneathTheName) {
  const NamePatterns patterns = {"model", "layer?", "a\\*b"};
  for (const char* const name : {"model", "model/w", "model/a/b", "layer1/w", "a*b/c"})
    EXPECT_TRUE(patterns.match(name)) << name;
  for (const char* const name : {"models", "my/model", "layer10/w", "a1b/c"})
    EXPECT_FALSE(patterns.match(name)) << name;
  EXPECT_FALSE(NamePatterns{"model/*/w"}.match("model/a/w/0"));
  EXPECT_TRUE(NamePatterns(true).match("model/w"));
  EXPECT_FALSE(NamePatterns(true).match_without_star("model/w"));
  EXPECT_TRUE(patterns.match_without_star("model/w"));
}

TEST(NamePatternsTest, OneForANameMatchesOnlyIt) {
  const NamePatterns patterns = {internal::pattern_for("a[0]*?\\")};
  EXPECT_TRUE(patterns.match("a[0]*?\\"));
  EXPECT_FALSE(patterns.match("a0"));
  EXPECT_EQ(internal::literal("a\"\\"), "\"a\\\"\\\\\"");
}

TEST(NamePatternsTest, AreAllOrNone) {
  EXPECT_TRUE(NamePatterns(true).match("any/name"));
  EXPECT_FALSE(NamePatterns(false).match("any/name"));
  EXPECT_TRUE(NamePatterns(false).empty());
  EXPECT_TRUE(NamePatterns({}).empty());
}

TEST(StoredNameTest, TheStarStandsForTheSameCharacters) {
  const std::vector<StoredName> names = {
      {"w", "weights"}, {"head/*", "old/head/*"}, {"*/bias", "*/b"}, {"all*", "*"}};
  EXPECT_EQ(stored_name(names, "w"), "weights");
  EXPECT_EQ(stored_name(names, "head/a/b"), "old/head/a/b");
  EXPECT_EQ(stored_name(names, "head/bias"), "old/head/bias") << "the first that matches";
  EXPECT_EQ(stored_name(names, "x/bias"), "x/b");
  EXPECT_EQ(stored_name(names, "all"), "");
  EXPECT_EQ(stored_name(names, "other"), "other");
  EXPECT_EQ(stored_name(names, "w/0"), "weights/0") << "what is beneath it, too";
  EXPECT_EQ(stored_name(names, "w2"), "w2");
  EXPECT_EQ(stored_name({{"ab*ba", "*"}}, "aba"), "aba") << "no character counts twice";
}

TEST(StoredNameTest, BothNamesHaveAStarOrNone) {
  check_stored_names({{"a", "b"}, {"a*", "*b"}});
  for (const auto& [name, stored_as] :
       std::vector<StoredName>{{"a*", "b"}, {"a", "b*"}, {"*a*", "*b*"}, {"", "b"}, {"a", ""}})
    EXPECT_THROW(check_stored_names({{name, stored_as}}), InvalidArgumentError) << name;
}

}  // namespace
}  // namespace crochet
