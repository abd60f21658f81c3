// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Learns to read hand-written digits with a TensorFlow graph that is built here, without
// Python. Run it twice, or kill it and run it again: it resumes where it was, and ends with the
// same bits.
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <crochet/crochet.h>
#include <crochet/engines/tensorflow/builder/graph_builder.h>
#include <crochet/fmt.h>
#include <fmt/format.h>

#include "digits_data.h"
#include "feeds.h"

using namespace digits;

namespace {

struct Options {
  int64_t steps = 1000;
  std::string dir = "runs/softmax";
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--steps", options.steps, "Stop at this step, counted over all runs")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--dir", options.dir,
                 "Checkpoints and curves of the run; an existing one is resumed")
      ->capture_default_str();
}

// Adds placeholders "images" and "labels", values "loss" and "accuracy", and the operation "train".
void build_softmax(crochet::tensorflow::Graph& graph) {
  crochet::tensorflow::GraphBuilder build(graph);
  const auto images = build.placeholder<float>("images", {-1, kPixels});
  const auto labels = build.placeholder<int32_t>("labels", {-1});
  const auto weights =
      build.variable("weights", crochet::Tensor::zeros<float>({kPixels, kClasses}));
  const auto bias = build.variable("bias", crochet::Tensor::zeros<float>({kClasses}));

  const auto product = build.op("MatMul", "product", {images, weights});
  const auto logits = build.op("BiasAdd", "logits", {product, bias});
  const auto depth = build.constant("depth", static_cast<int32_t>(kClasses));
  const auto one_hot =
      build.op("OneHot", "one_hot",
               {labels, depth, build.constant("on", 1.0f), build.constant("off", 0.0f)});
  const auto losses = build.op("SoftmaxCrossEntropyWithLogits", "losses", {logits, one_hot});
  const auto axis = build.constant("axis", std::vector{0});
  const auto loss = build.op("Mean", "loss", {losses[0], axis});
  build.scalar_summary("curves/loss", loss);

  const auto guesses = build.op("ArgMax", "guesses", {logits, build.constant("classes", 1)},
                                {{"output_type", crochet::DType::kInt32}});
  const auto hits = build.op("Cast", "hits", {build.op("Equal", "equal", {guesses, labels})},
                             {{"DstT", crochet::DType::kFloat}});
  build.op("Mean", "accuracy", {hits, axis});

  const auto apply = build.gradient_descent("apply", loss, {.learning_rate = 0.5});
  crochet::create_global_step(graph);
  build.group("train", {crochet::increment_global_step(graph, 1, {apply})});
}

int run(const Options& options) {
  const Digits digits = load_digits(default_digits_file());
  crochet::tensorflow::Graph graph;
  build_softmax(graph);
  const crochet::Output images = graph.output("images");
  const crochet::Output labels = graph.output("labels");
  const crochet::Operation train_op = graph.operation("train");

  const auto accuracy = std::make_shared<crochet::FinalOpsHook>(
      "accuracy",
      crochet::Feeds{{images, images_of(digits.test)}, {labels, labels_of(digits.test)}});
  const crochet::RunReport report = crochet::train(
      {.graph = graph,
       .checkpoint_dir = options.dir,
       .hooks = {crochet::StopAtStepHook({.last_step = options.steps}),
                 crochet::NanTensorHook("loss"),
                 crochet::LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 100}),
                 crochet::SignalHook({SIGINT, SIGTERM}), accuracy}},
      [&](crochet::MonitoredSession& session) {
        while (!session.should_stop())
          // The step determines the samples, so a recovered run takes the same.
          session.run_step_fn([&](crochet::StepContext& context) {
            const Dataset batch =
                batch_of_step(digits.train, crochet::read_global_step(context.session()));
            context.run_with_hooks(train_op,
                                   {{images, images_of(batch)}, {labels, labels_of(batch)}});
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
  CLI::App app("Learns to read hand-written digits with a TensorFlow graph built in C++.",
               "digits_softmax");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "digits_softmax: " << error.what() << '\n';
    return crochet::pending_signal() == 0 ? 1 : 128 + crochet::pending_signal();
  }
}
