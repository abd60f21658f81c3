// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/internal/held_generators.h"

#include <random>

#include <gtest/gtest.h>

#include "crochet/testing/scripted_session.h"

namespace crochet {
namespace {

TEST(HeldGeneratorsTest, PutsBackTheGeneratorsOfAGraph) {
  ScriptedGraph graph;
  std::mt19937 generator(5);
  int64_t number = 1;
  graph.add_saveable({.name = "generator",
                      .object = internal::make_generator_saveable(
                          [] { return TensorMap(); }, [](const TensorMap&) {},
                          [&] { return internal::hold_copy(generator); })});
  graph.add_saveable({.name = "number", .object = saveable_value(number)});
  const std::mt19937 before = generator;
  {
    const internal::HeldGenerators held(graph);
    generator();
    number = 2;
    EXPECT_NE(generator, before);
  }
  EXPECT_EQ(generator, before);
  EXPECT_EQ(number, 2);  // What is not drawn is the program's own affair.
}

}  // namespace
}  // namespace crochet
