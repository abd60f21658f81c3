// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Predicts with a trained model: from a run's directory, one checkpoint, or a safetensors file.
//
//   inference train DIRECTORY bundle|safetensors
//   inference predict PATH
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <crochet/crochet.h>

struct Model {
  std::vector<float> weights = std::vector<float>(3);
  std::array<std::array<double, 2>, 2> mixing = {};
  int64_t version = 0;

  void track(crochet::Tracker& tracker) {
    tracker("weights", weights)("mixing", mixing)("version", version);
  }
  double operator()(double x) const {
    return weights[0] + weights[1] * x + weights[2] * x * x + mixing[0][1] * mixing[1][0];
  }
};

int main(int, char** argv) {
  Model model;
  if (argv[1] == std::string("predict")) {
    const crochet::RestoreReport report = crochet::load(argv[2], {{"model", model}});
    std::fprintf(stderr, "%s\n", report.prefix.c_str());
    std::printf("%.17g %ld\n", model(0.5), static_cast<long>(model.version));
    return 0;
  }
  double rate = 1;  // Of the training only.
  crochet::Loop loop(
      {.checkpoint = {.dir = argv[2],
                      .every_steps = 20,
                      .saver = {.format = argv[3] == std::string("safetensors")
                                              ? crochet::CheckpointFormat::kSafetensors
                                              : crochet::CheckpointFormat::kTensorBundle}},
       .hooks = {crochet::StopAtStepHook({.last_step = 100})}});
  loop.track("model", model);
  loop.track("rate", rate);
  loop.run([&](crochet::Step& step) {
    for (size_t i = 0; i < 3; ++i) model.weights[i] += static_cast<float>(rate) * 0.1f;
    model.mixing[0][1] += rate;
    model.mixing[1][0] -= rate / 3;
    model.version = step.number();
    rate *= 0.97;
  });
  std::printf("%.17g %ld\n", model(0.5), static_cast<long>(model.version));
}
