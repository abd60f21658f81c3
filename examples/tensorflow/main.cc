// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Learns to read hand-written digits with a graph that Python exported (make_digits_graph.py). Run
// it twice, or kill it and run it again: it resumes where it was, and ends with the same bits,
// which are also those that Python computes.
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <crochet/crochet.h>
#include <crochet/engines/tensorflow/graph.h>
#include <crochet/fmt.h>
#include <fmt/format.h>

#include "digits_data.h"
#include "feeds.h"

using namespace digits;

namespace {

struct Options {
  std::string graph = "digits.meta";
  int64_t steps = 1000;
  std::string dir = "runs/tensorflow";
  std::string losses;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--graph", options.graph, "The graph that make_digits_graph.py wrote")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "Stop at this step, counted over all runs")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--dir", options.dir,
                 "Checkpoints and curves of the run; an existing one is resumed")
      ->capture_default_str();
  app.add_option("--losses", options.losses, "A file for the loss of each step, with all its bits");
}

int run(const Options& options) {
  const Digits digits = load_digits(default_digits_file());
  auto graph = crochet::tensorflow::Graph::import_meta_graph(options.graph);
  const crochet::Output images = graph.output("images");
  const crochet::Output labels = graph.output("labels");
  const crochet::Operation train_op = graph.operation("train");

  crochet::HookList hooks = {crochet::StopAtStepHook({.last_step = options.steps}),
                             crochet::NanTensorHook("loss"),
                             crochet::LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 100}),
                             crochet::SignalHook({SIGINT, SIGTERM})};
  std::ofstream losses;
  if (!options.losses.empty()) {
    losses.open(options.losses);
    hooks.push_back(crochet::every({.steps = 1}, "loss", [&](int64_t step, float loss) {
      losses << fmt::format("{} {:a}\n", step, loss);
    }));
  }
  const auto accuracy = std::make_shared<crochet::FinalOpsHook>(
      "accuracy",
      crochet::Feeds{{images, images_of(digits.test)}, {labels, labels_of(digits.test)}});
  hooks.push_back(accuracy);

  const crochet::RunReport report =
      crochet::train({.graph = graph, .checkpoint_dir = options.dir, .hooks = hooks},
                     [&](crochet::MonitoredSession& session) {
                       while (!session.should_stop())
                         // The step determines the samples, so a recovered run takes the same.
                         session.run_step_fn([&](crochet::StepContext& context) {
                           const Dataset batch = batch_of_step(
                               digits.train, crochet::read_global_step(context.session()));
                           context.run_with_hooks(
                               train_op, {{images, images_of(batch)}, {labels, labels_of(batch)}});
                         });
                     });

  if (const crochet::FetchValues& value = accuracy->final_ops_values())
    fmt::print("accuracy {:.2f} %\n", 100 * value.scalar<float>());
  fmt::print("{}\n", report);
  return report.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Learns to read hand-written digits with a TensorFlow graph.", "digits_tensorflow");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "digits_tensorflow: " << error.what() << '\n';
    return crochet::pending_signal() == 0 ? 1 : 128 + crochet::pending_signal();
  }
}
