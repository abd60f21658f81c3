// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Containers of Boost, which are what std::flat_map and std::inplace_vector were made from, are
// tracked by what they can do: there is no header for them.
#include <string>
#include <vector>

#include <boost/circular_buffer.hpp>
#include <boost/container/deque.hpp>
#include <boost/container/flat_map.hpp>
#include <boost/container/flat_set.hpp>
#include <boost/container/list.hpp>
#include <boost/container/map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/container/stable_vector.hpp>
#include <boost/container/static_vector.hpp>
#include <boost/random/linear_congruential.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/ranlux.hpp>
#include <boost/random/taus88.hpp>
#include <boost/random/uniform_real_distribution.hpp>
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

struct Random {
  boost::random::mt19937 twister;
  boost::random::mt19937_64 wide;
  boost::random::rand48 linear;
  boost::random::minstd_rand minimal;
  boost::random::taus88 shifts;
  boost::random::ranlux24 luxury;
  boost::random::normal_distribution<double> normal;
  boost::random::uniform_real_distribution<float> uniform;

  // Some cannot be initialised by {}.
  void track(Tracker& tracker) {
    tracker("twister", twister)("wide", wide)("linear", linear)("minimal", minimal);
    tracker("shifts", shifts)("luxury", luxury)("normal", normal)("uniform", uniform);
  }
  double draw() {
    return static_cast<double>(twister() ^ wide() ^ linear() ^ minimal() ^ shifts() ^ luxury()) +
           normal(twister) + uniform(wide);
  }
};

TEST_P(BoostTest, GeneratorsAndDistributionsContinue) {
  Random saved;
  saved.normal = boost::random::normal_distribution<double>(0.1, 1.0 / 3);
  saved.uniform = boost::random::uniform_real_distribution<float>(0.1f, 1 / 0.7f);
  for (int i = 0; i < 1000; ++i) saved.draw();
  save(saved);
  Random restored;
  restore(restored);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(restored.draw(), saved.draw()) << i;
  EXPECT_EQ(restored.normal.sigma(), 1.0 / 3);
}

TEST_P(BoostTest, ARingKeepsItsElements) {
  boost::circular_buffer<double> saved(3);
  for (int i = 0; i < 5; ++i) saved.push_back(i);
  save(saved);
  for (const size_t capacity : {3, 8, 1, 0}) {
    boost::circular_buffer<double> restored(capacity);
    restore(restored);
    EXPECT_EQ(restored, saved) << capacity;
    EXPECT_EQ(restored.capacity(), std::max<size_t>(capacity, 3));
  }
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
