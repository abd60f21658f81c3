// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Containers of Boost, which are what std::flat_map and std::inplace_vector were made from, are
// tracked by what they can do: there is no header for them.
#include <string>
#include <vector>

#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/unordered_map.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/types/types_test.h"

namespace crochet::types {
namespace {

namespace bc = boost::container;

class BoostTest : public TypesTest {};
INSTANTIATE_TEST_SUITE_P(Formats, BoostTest, formats(), format_name);

struct Layer {
  std::vector<float> weights;
  double rate = 0;
  friend bool operator==(const Layer&, const Layer&) = default;
};

struct Containers {
  bc::vector<double> values;
  bc::small_vector<float, 4> small;
  bc::static_vector<int, 8> fixed;
  bc::static_vector<Layer, 4> layers;
  bc::stable_vector<Layer> stable;
  bc::deque<int> queue;
  bc::list<Layer> list;
  bc::flat_map<std::string, Layer> by_name;
  bc::flat_map<int, double> by_number;
  bc::map<std::string, std::vector<float>> tree;
  bc::flat_set<std::string> names;
  boost::unordered_map<std::string, Layer> hashed;

  friend bool operator==(const Containers&, const Containers&) = default;
};

TEST_P(BoostTest, ContainersKeepTheirElements) {
  Containers saved{.values = {1, 2, 3},
                   .small = {1, 2, 3, 4, 5, 6},
                   .fixed = {7, 8},
                   .layers = {{{1, 2}, 3}, {{4}, 5}},
                   .stable = {{{1}, 1}},
                   .queue = {9, 10},
                   .list = {{{6}, 6}, {{}, 7}},
                   .by_name = {{"a", {{1}, 2}}, {"b", {{3, 4}, 5}}},
                   .by_number = {{3, 0.5}, {1, 1.5}},
                   .tree = {{"x", {1, 2}}, {"y", {}}},
                   .names = {"one", "two"},
                   .hashed = {{"h", {{8}, 9}}}};
  const Containers before = saved;
  save(saved);
  EXPECT_EQ(checkpoint().read("it/values"), Tensor::from<double>({1, 2, 3}));
  // What the program has at a start is other, more and fewer elements.
  Containers other{.values = {9},
                   .small = {},
                   .fixed = {1, 2, 3, 4},
                   .layers = {},
                   .stable = {{{1}, 1}, {{2}, 2}},
                   .queue = {},
                   .list = {},
                   .by_name = {{"c", {}}, {"a", {}}},
                   .by_number = {{7, 7}},
                   .tree = {{"z", {1}}},
                   .names = {"three"},
                   .hashed = {}};
  restore(other);
  EXPECT_EQ(other, before);
}

TEST_P(BoostTest, EmptyOnesStayEmpty) {
  Containers saved;
  save(saved);
  Containers other{.values = {1},
                   .small = {1},
                   .fixed = {1},
                   .layers = {{{1}, 1}},
                   .stable = {{{1}, 1}},
                   .queue = {1},
                   .list = {{{1}, 1}},
                   .by_name = {{"a", {}}},
                   .by_number = {{1, 1}},
                   .tree = {{"a", {1}}},
                   .names = {"a"},
                   .hashed = {{"a", {}}}};
  restore(other);
  EXPECT_EQ(other, Containers());
}

TEST_P(BoostTest, MoreElementsThanFitAreAnError) {
  bc::static_vector<int, 8> saved = {1, 2, 3, 4, 5};
  save(saved);
  bc::static_vector<int, 4> small = {1};
  EXPECT_ANY_THROW(restore(small));
  EXPECT_EQ(small.size(), 1);
}

}  // namespace
}  // namespace crochet::types
