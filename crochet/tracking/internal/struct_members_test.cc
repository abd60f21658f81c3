// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/struct_members.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::inline v0::internal {
namespace {

using testing::ElementsAre;

template <typename T>
std::vector<std::string> names() {
  std::vector<std::string> names;
  T value{};
  for_each_member(value, [&](std::string_view name, auto&) { names.emplace_back(name); });
  return names;
}

struct Everything {
  float rate = 0.5F;
  std::vector<int> sizes = {1};
  float grid[3][2] = {};
  std::array<std::array<int, 2>, 2> table = {};
  std::mt19937 generator;
  std::atomic<int> count = 0;
  std::unique_ptr<Everything> next;
  std::map<std::string, Everything> children;
  struct {
    int x;
  } inner;
};

template <typename T>
struct Pair {
  T first_thing, second_thing_2;
};

struct Eight {
  int a1, a2, a3, a4, a5, a6, a7, a8;
};
struct SixtyFour {
  int a1, a2, a3, a4, a5, a6, a7, a8;
  int b1, b2, b3, b4, b5, b6, b7, b8;
  int c1, c2, c3, c4, c5, c6, c7, c8;
  int d1, d2, d3, d4, d5, d6, d7, d8;
  int e1, e2, e3, e4, e5, e6, e7, e8;
  int f1, f2, f3, f4, f5, f6, f7, f8;
  int g1, g2, g3, g4, g5, g6, g7, g8;
  int h1, h2, h3, h4, h5, h6, h7, h8;
};
struct SixtyFive {
  int a1, a2, a3, a4, a5, a6, a7, a8;
  int b1, b2, b3, b4, b5, b6, b7, b8;
  int c1, c2, c3, c4, c5, c6, c7, c8;
  int d1, d2, d3, d4, d5, d6, d7, d8;
  int e1, e2, e3, e4, e5, e6, e7, e8;
  int f1, f2, f3, f4, f5, f6, f7, f8;
  int g1, g2, g3, g4, g5, g6, g7, g8;
  int h1, h2, h3, h4, h5, h6, h7, h8;
  int i1;
};

struct Empty {};
struct Derived : Eight {
  int more;
};
struct DerivedOfEmpty : Empty {
  int more;
};
class Private {
 public:
  int shown = 0;
  int hidden() const { return hidden_; }

 private:
  int hidden_ = 0;
};
struct Explicit {
  explicit Explicit(int) {}
};
struct ExplicitDefault {
  explicit ExplicitDefault(int = 0) {}
};
struct WithExplicit {
  int number;
  Explicit it;
};
struct WithExplicitDefault {
  int number;
  ExplicitDefault it;
  int more;
};
union Either {
  int a;
  float b;
};

TEST(StructMembersTest, HaveTheirNamesInTheirOrder) {
  EXPECT_THAT(names<Everything>(), ElementsAre("rate", "sizes", "grid", "table", "generator",
                                               "count", "next", "children", "inner"));
  EXPECT_THAT(names<Pair<Pair<int>>>(), ElementsAre("first_thing", "second_thing_2"));
  struct Local {
    int x_1;
    std::string Y;
  };
  EXPECT_THAT(names<Local>(), ElementsAre("x_1", "Y"));
}

TEST(StructMembersTest, AreThoseOfTheValue) {
  Pair<int> pair{1, 2};
  for_each_member(pair, [](std::string_view, int& member) { member *= 10; });
  EXPECT_EQ(pair.first_thing, 10);
  EXPECT_EQ(pair.second_thing_2, 20);
}

TEST(StructMembersTest, AreAtMost64) {
  EXPECT_EQ(num_members<SixtyFour>(), 64U);
  EXPECT_EQ(names<SixtyFour>().size(), 64U);
  EXPECT_EQ(names<SixtyFour>().back(), "h8");
  EXPECT_TRUE(PlainStruct<SixtyFour>);
  EXPECT_FALSE(PlainStruct<SixtyFive>);
}

TEST(StructMembersTest, AreNotFoundOfOtherTypes) {
  EXPECT_FALSE(PlainStruct<Empty>);
  EXPECT_FALSE(PlainStruct<Derived>);
  EXPECT_FALSE(PlainStruct<DerivedOfEmpty>);
  EXPECT_FALSE(PlainStruct<Private>);
  EXPECT_FALSE(PlainStruct<WithExplicit>);
  EXPECT_FALSE(PlainStruct<WithExplicitDefault>);
  EXPECT_FALSE(PlainStruct<Either>);
  EXPECT_FALSE(PlainStruct<const Eight>);
  EXPECT_FALSE(PlainStruct<int>);
  EXPECT_FALSE((PlainStruct<std::array<int, 3>>));
  EXPECT_FALSE((PlainStruct<std::pair<int, int>>));
}

}  // namespace
}  // namespace crochet::inline v0::internal
