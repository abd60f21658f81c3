// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A training for record_night.py, which gives it a bad night: steps of some milliseconds, saved and
// evaluated, until step 6000. argv: the directory, the file that announces a preemption, the step
// from which the loss is NaN, or 0, and the command crochet. It sleeps, since what the recorded
// times show has to take some; no test runs it.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <thread>
#include <vector>

#include "crochet/crochet.h"
#include "crochet/hooks/guards/preemption_hook.h"
#include "crochet/hooks/guards/spike_guard_hook.h"
#include "crochet/hooks/guards/watchdog_hook.h"

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int64_t nan_from = std::atoll(argv[3]);
  std::vector<double> weights(100'000, 1);
  double loss = 0;
  const auto guard = std::make_shared<crochet::SpikeGuardHook>("loss");
  crochet::Loop loop(
      {.checkpoint = {.dir = argv[1], .every_steps = 100, .saver = {.max_to_keep = 3}},
       .hooks = {crochet::SignalHook({SIGTERM}),
                 crochet::PreemptionHook(crochet::preemption_file(argv[2], 1.0)),
                 crochet::EvaluationHook({.every_n_steps = 500,
                                          .evaluate =
                                              [&] {
                                                std::this_thread::sleep_for(
                                                    std::chrono::milliseconds(40));
                                                return crochet::Metrics{{"accuracy", 1 - loss / 3}};
                                              },
                                          .output_dir = argv[1]}),
                 crochet::NanTensorHook("loss"), guard,
                 crochet::WatchdogHook(
                     {.min_step_secs = 1, .dir = argv[1], .values = {"loss"}, .helper = argv[4]}),
                 crochet::StopAtStepHook({.last_step = 6000})}});
  int64_t batch = 0;
  loop.track("weights", weights);
  loop.track("batch", batch);
  loop.scalar("loss", [&] { return loss; });
  const crochet::RunReport report = loop.run([&](crochet::Step& step) {
    ++batch;
    if (guard->skips_batch()) return crochet::LoopAction::kSkip;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    weights[static_cast<size_t>(step.number() % 100'000)] += 1;
    loss = 2 * std::exp(-0.001 * static_cast<double>(step.number())) +
           0.05 * std::sin(0.7 * static_cast<double>(batch));
    if (batch == 2222) loss = 1000;
    if (nan_from > 0 && step.number() >= nan_from) loss = std::numeric_limits<double>::quiet_NaN();
    return crochet::LoopAction::kContinue;
  });
  return report.exit_code();
}
