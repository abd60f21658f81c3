// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/renaming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;

std::string substituted(std::string_view substitution, const std::string& name) {
  return Substitution(substitution).apply(name);
}

TEST(SubstitutionTest, SubstitutesAsSedDoes) {
  EXPECT_EQ(substituted("s/a/b/", "banana"), "bbnana");
  EXPECT_EQ(substituted("s/a/b/g", "banana"), "bbnbnb");
  EXPECT_EQ(substituted("s|^model/|net/|", "model/model/w"), "net/model/w");
  EXPECT_EQ(substituted("s/^a/x/g", "aaa"), "xaa");
  EXPECT_EQ(substituted("s/([a-z]+)_([0-9]+)/\\2-\\1/", "w_12"), "12-w");
  EXPECT_EQ(substituted("s/b/[&]/", "abc"), "a[b]c");
  EXPECT_EQ(substituted("s/b/\\&/", "abc"), "a&c");
  EXPECT_EQ(substituted("s/\\//./g", "a/b/c"), "a.b.c");
  EXPECT_EQ(substituted("s/x*/-/g", "ab"), "-a-b-");
  EXPECT_EQ(substituted("s/$/!/", "ab"), "ab!");
  EXPECT_EQ(substituted("s/z/y/", "ab"), "ab");
  EXPECT_EQ(substituted("s/a//", "ab"), "b");
  EXPECT_EQ(substituted("s/(a)|b/<\\1>/g", "ab"), "<a><>");
}

TEST(SubstitutionTest, RejectsOtherText) {
  for (const char* const text :
       {"", "s", "s/", "s/a", "s/a/b", "a/b/c/", "s/a/b/x", "s/(/b/", "s\\a\\b\\"})
    EXPECT_THROW(Substitution{text}, InvalidArgumentError) << text;
}

TEST(RenamingTest, WholeNamesComeBeforePrefixesBeforeSubstitutions) {
  Renaming renaming{.whole = {{"a/x", "first"}}, .prefixes = {{"a/", "b/"}}};
  renaming.substitutions.emplace_back("s/^/z/");
  renaming.substitutions.emplace_back("s/zc/d/");
  using Names = std::map<std::string, std::string>;
  EXPECT_EQ(renaming.apply({"a/x", "a/y", "c"}),
            (Names{{"a/x", "first"}, {"a/y", "b/y"}, {"c", "d"}}));
  EXPECT_EQ(Renaming().apply({"a"}), (Names{{"a", "a"}}));
}

TEST(RenamingTest, ListsAllProblems) {
  const Renaming unused{.whole = {{"x", "y"}}, .prefixes = {{"q/", ""}}};
  EXPECT_THAT([&] { unused.apply({"a"}); },
              testing::Throws<NotFoundError>(
                  Property(&Error::what, AllOf(HasSubstr("\"x\""), HasSubstr("\"q/...\"")))));
  const Renaming clash{.whole = {{"a", "b"}, {"c", ""}}};
  EXPECT_THAT(
      [&] {
        clash.apply({"a", "b", "c"});
      },
      testing::Throws<InvalidArgumentError>(
          Property(&Error::what, AllOf(HasSubstr("\"a\" and \"b\" would both be called \"b\""),
                                       HasSubstr("\"c\" would have no name")))));
}

TEST(RenamingTest, ANameIsParsedAtTheFirstEqualsSign) {
  EXPECT_EQ(parse_renaming("a=b=c"), (std::pair<std::string, std::string>("a", "b=c")));
  EXPECT_EQ(parse_renaming("a="), (std::pair<std::string, std::string>("a", "")));
  EXPECT_THROW(parse_renaming("a"), InvalidArgumentError);
  EXPECT_THROW(parse_renaming("=a"), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet::tool
