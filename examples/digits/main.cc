// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Learns to read hand-written digits. Run it twice, or kill it and run it
// again: it resumes where it was, and ends with the same bits.
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>

#include <crochet/crochet.h>
#include <crochet/eigen.h>
#include <crochet/fmt.h>
#include <fmt/format.h>

#include "adam.h"
#include "batches.h"
#include "best_accuracy_hook.h"
#include "confusion_table.h"
#include "digits_data.h"
#include "evaluation.h"
#include "options.h"
#include "perceptron.h"

using namespace digits;

namespace {

void print_results(const crochet::FinalOpsHook& final_values, const BestAccuracyHook& best) {
  const crochet::FetchValues& values = final_values.final_ops_values();
  if (!values) return;  // After a signal there is no time for an evaluation.
  fmt::print("\nHeld-out digits (rows) and what they were taken for (columns):\n\n{}\n",
             confusion_table(values["confusion"].tensor(), stdout_style()));
  fmt::print("accuracy {:.2f} %", 100 * values["accuracy"].scalar<float>());
  if (best.best_step() > 0)
    fmt::print(", at its best {:.2f} % at step {}", 100 * best.best(), best.best_step());
  fmt::print("\n");
}

int train(const Options& options) {
  const Digits digits = load_digits(options.data);
  Perceptron model(kPixels, options.hidden, kClasses, options.seed);
  Adam adam(model, options.learning_rate);
  Batches batches(digits.train, options.batch, options.seed);
  Gradients gradients;

  // Hooks whose results are read after the run.
  const auto best = std::make_shared<BestAccuracyHook>();
  const auto final_values = std::make_shared<crochet::FinalOpsHook>(
      crochet::Fetches::Map{{"accuracy", "accuracy"}, {"confusion", "confusion"}});

  crochet::Loop loop({
      .checkpoint = {.dir = options.dir,
                     .every_steps = options.save_steps,
                     .every_secs = options.save_secs},
      .summaries = {.every_steps = 100},
      .hooks = {crochet::StopAtStepHook({.last_step = options.steps}),
                crochet::NanTensorHook("loss"),
                crochet::ProgressBarHook({.values = {"loss", "accuracy"}}),
                crochet::SignalHook({SIGINT, SIGTERM}), best, final_values},
  });
  // State that survives a restart.
  loop.track("model", model);
  loop.track("adam", adam);
  loop.track("batches", batches);
  // Values for hooks: computed only in steps in which a hook fetches them.
  loop.scalar("loss", [&] { return gradients.loss; });
  loop.scalar("accuracy", [&] { return accuracy(model, digits.test); });
  loop.value("confusion", [&] { return confusion_matrix(model, digits.test); });

  const crochet::RunReport report = loop.run(
      [&] { gradients = model.gradients(batches.next()); },  // Computes; a save may copy meanwhile.
      [&] { adam.apply(gradients); });                       // Changes the tracked state.

  print_results(*final_values, *best);
  fmt::print("{}\n", report);
  return report.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse_options(argc, argv);
    return options ? train(*options) : 0;
  } catch (const UsageError& error) {
    std::cerr << "digits: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "digits: " << error.what() << '\n';
    return crochet::pending_signal() == 0 ? 1 : 128 + crochet::pending_signal();
  }
}
