// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// One process trains, another one follows its checkpoints.
//
//   evaluator train STEPS
//   evaluator newest STEPS
//   evaluator best STEPS
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include <crochet/crochet.h>

// Learns the mean of noisy numbers.
struct Model {
  double mean = 0;
  double loss() const { return (mean - 3) * (mean - 3); }
  void track(crochet::Tracker& tracker) { tracker("mean", mean); }
};

int main(int, char** argv) {
  const std::string part = argv[1];
  const int64_t last_step = std::atoll(argv[2]);
  Model model;

  if (part != "train") {
    crochet::Evaluator evaluator({
        .checkpoint_dir = "runs/job",
        .checkpoints = {.timeout_secs = 60,
                        .checkpoint_basename = "weights",
                        .which = part == "best" ? crochet::CheckpointChoice::best(
                                                      "loss", crochet::Better::kLower)
                                                : crochet::CheckpointChoice::newest(),
                        .final_step = last_step},
        .eval_dir = "runs/eval_" + part,
    });
    evaluator.track("model", model);
    const crochet::EvaluationReport report = evaluator.run([&] {
      return crochet::Metrics{{"loss", model.loss()}};
    });
    std::printf("%ld %.17g\n", static_cast<long>(report.last_step.value_or(-1)), model.loss());
    return 0;
  }

  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal(3, 1);
  crochet::Loop loop(
      {.checkpoint = {.dir = "runs/job",
                      .basename = "weights",
                      .every_steps = 100,
                      .saver = {.max_to_keep = 3, .keep_best = crochet::KeepBest{"loss", 1}}},
       .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("model", model);
  loop.track("generator", generator);
  loop.track("normal", normal);
  loop.scalar("loss", [&] { return model.loss(); });
  const crochet::RunReport report = loop.run([&] {
    model.mean += 0.1 * (normal(generator) - model.mean);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  std::printf("%ld %.17g\n", static_cast<long>(report.last_step), model.loss());
}
