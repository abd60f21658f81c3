// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A student starts with the encoder of the best teacher, under other names, and nothing else.
//
//   warm_start teacher
//   warm_start student STEPS
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <crochet/crochet.h>

struct Layer {
  std::vector<double> weights = std::vector<double>(4);
  std::vector<double> bias = std::vector<double>(2);
  void track(crochet::Tracker& tracker) { tracker("weights", weights)("bias", bias); }
  void learn(double target) {
    for (double& each : weights) each += 0.01 * (target - each);
    for (double& each : bias) each -= 0.001 * each * target + 1e-5;
  }
};

struct Encoder {
  std::array<Layer, 2> layers;
  void track(crochet::Tracker& tracker) { tracker("layers", layers); }
};

int main(int, char** argv) {
  Encoder encoder;
  Layer head;
  double total = 0;
  const auto step = [&](crochet::Step& current) {
    for (Layer& layer : encoder.layers) layer.learn(std::sin(current.number() / 100.0));
    head.learn(encoder.layers[0].weights[0]);
    total += head.weights[0];
  };

  if (argv[1] == std::string("teacher")) {
    crochet::Loop loop(
        {.checkpoint = {.dir = "runs/teacher",
                        .every_steps = 50,
                        .saver = {.keep_best =
                                      crochet::KeepBest{"accuracy", 1, crochet::Better::kHigher}}},
         .hooks = {crochet::StopAtStepHook({.last_step = 600})}});
    loop.track("encoder", encoder);
    loop.track("head", head);
    loop.track("total", total);
    loop.scalar("accuracy", [&] { return encoder.layers[0].weights[0]; });
    loop.run(step);
    return 0;
  }

  crochet::Loop loop({.checkpoint = {.dir = "runs/student", .every_steps = 100},
                      .restore = {.from = "runs/teacher",
                                  .which = crochet::CheckpointChoice::best("accuracy"),
                                  .only = {"backbone/*"},
                                  .rename = {{"backbone/*", "encoder/*"}},
                                  .allow_surplus = true},
                      .hooks = {crochet::StopAtStepHook({.last_step = std::atoll(argv[2])})}});
  loop.track("backbone", encoder);
  loop.track("classifier", head);
  loop.track("total", total);
  const crochet::RunReport report = loop.run([&](crochet::Step& current) {
    if (current.number() == 1)
      std::printf("from %.17g, %.17g\n", encoder.layers[0].weights[0], head.weights[0]);
    step(current);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  std::printf("%.17g %.17g %.17g\n", encoder.layers[1].bias[1], head.weights[3], total);
}
