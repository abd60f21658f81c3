// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Instantiates templates of the public headers as a program does, for tests/lifetime/statics.cmake.
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "crochet/engines/local/graph.h"
#include "crochet/loop/loop.h"

namespace crochet_lifetime {

struct Model {
  std::vector<float> weights;
  double sum = 0;
  std::mt19937_64 random;
};

void use_templates(Model& model, crochet::local::Graph& graph);

}  // namespace crochet_lifetime

void crochet_lifetime::use_templates(Model& model, crochet::local::Graph& graph) {
  crochet::Loop loop({.checkpoint = {.dir = "run"}});
  loop.track("weights", model.weights);
  loop.track("random", model.random);
  loop.scalar("sum", [&] { return model.sum; });
  loop.run([&](crochet::Step& step) { model.sum += static_cast<double>(step.number()); });
  const auto weights = graph.variable("w", crochet::Tensor::zeros<float>({3}));
  const auto sum = graph.op("sum", {weights}, [](std::span<const float> values) {
    float sum = 0;
    for (const float value : values) sum += value;
    return sum;
  });
  graph.op("step", {update(weights), sum}, [](std::span<float> values, float by) {
    for (float& value : values) value += by;
  });
}
