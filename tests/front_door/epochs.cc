// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Epochs, a schedule, an average, saves at the ends of epochs, batches that are skipped.
//
//   epochs
#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include <crochet/crochet.h>

int main() {
  std::vector<double> examples(1000);
  for (size_t i = 0; i < examples.size(); ++i) examples[i] = static_cast<double>(i) / 1000;
  examples[123] = NAN;
  double mean = 0;
  double loss = 0;

  crochet::Epochs epochs(examples, {.batch_size = 32, .seed = 1, .num_epochs = 40});
  crochet::CosineSchedule learning_rate({.initial = 1e-1, .steps = 1200, .warm_up = 20});
  crochet::Loop loop(
      {.checkpoint = {.dir = "runs/mean", .every_steps = 50},
       .hooks = {crochet::every_epoch(epochs, "loss", [](int64_t epoch, double average) {
         std::printf("epoch %ld: %.17g\n", static_cast<long>(epoch), average);
       })}});
  loop.track("mean", mean);
  loop.track("epochs", epochs);
  loop.track("learning_rate", learning_rate);
  loop.average("loss", [&] { return loss; }, {.steps = 40});

  const crochet::RunReport report = loop.run([&](crochet::Step& step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
    double gradient = 0;
    const auto batch = epochs.next();
    for (const double example : batch) gradient += mean - example;
    gradient /= static_cast<double>(batch.size());
    if (epochs.at_end()) step.request_save("end of epoch");
    if (!std::isfinite(gradient)) return crochet::LoopAction::kSkip;
    mean -= learning_rate.at(step.number()) * gradient;
    loss = gradient * gradient;
    return mean < 2 ? crochet::LoopAction::kContinue : crochet::LoopAction::kStop;
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  std::printf("%.17g after %ld steps, %g epochs\n", mean, static_cast<long>(report.last_step),
              *report.epochs);
  return report.exit_code();
}
