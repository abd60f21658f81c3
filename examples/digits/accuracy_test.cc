// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains with the program's defaults and five seeds, and fails unless the mean
// accuracy on the held-out digits is at least 97 %.
#include <fmt/format.h>

#include "adam.h"
#include "batches.h"
#include "evaluation.h"
#include "options.h"

using namespace digits;

namespace {

constexpr uint64_t kSeeds = 5;
constexpr float kWanted = 0.97f;

float train(const Digits& digits, const Options& options) {
  Perceptron model(kPixels, options.hidden, kClasses, options.seed);
  Adam adam(model, options.learning_rate);
  Batches batches(digits.train, options.batch, options.seed);
  for (int64_t step = 0; step < options.steps; ++step) adam.apply(model.gradients(batches.next()));
  return accuracy(model, digits.test);
}

}  // namespace

int main() {
  const char* const no_options[] = {"digits"};
  Options options = *parse_options(1, no_options);
  const Digits digits = load_digits(options.data);
  float sum = 0;
  for (options.seed = 1; options.seed <= kSeeds; ++options.seed) {
    const float found = train(digits, options);
    fmt::print("seed {}: {:.4f}\n", options.seed, found);
    sum += found;
  }
  const float mean = sum / kSeeds;
  fmt::print("mean {:.4f}, expected at least {:.4f}\n", mean, kWanted);
  return mean >= kWanted ? 0 : 1;
}
