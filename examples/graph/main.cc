// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Learns to read hand-written digits in TensorFlow's style: named operations, fed and fetched. Run
// it twice, or kill it and run it again: it resumes where it was, and ends with the same bits.
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <crochet/crochet.h>
#include <crochet/eigen.h>
#include <crochet/fmt.h>
#include <fmt/format.h>

#include "batches.h"
#include "digits_data.h"
#include "softmax.h"

using namespace digits;

namespace {

constexpr Eigen::Index kBatchSize = 32;
constexpr float kLearningRate = 0.5f;

struct Options {
  int64_t steps = 1000;
  std::string dir = "runs/graph";
  uint64_t seed = 1;
  std::string data = default_digits_file();
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--steps", options.steps, "Stop at this step, counted over all runs")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--dir", options.dir,
                 "Checkpoints and curves of the run; an existing one is resumed")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "For the order of the samples")->capture_default_str();
  app.add_option("--data", options.data, "The images; by default those of examples/digits");
}

// One sample per row: the columns of the data in memory.
crochet::Tensor images_of(const Dataset& data) {
  const std::span<const float> pixels(data.images.data(), static_cast<size_t>(data.images.size()));
  return crochet::Tensor::from(pixels, {data.size(), kPixels});
}

crochet::Tensor labels_of(const Dataset& data) {
  const std::span<const int> labels(data.labels.data(), static_cast<size_t>(data.size()));
  return crochet::Tensor::from(labels, {data.size()});
}

int run(const Options& options) {
  const Digits digits = load_digits(options.data);
  Batches batches(digits.train, kBatchSize, options.seed);

  crochet::local::Graph graph;
  const auto images = graph.placeholder<float>("images", {-1, kPixels});
  const auto labels = graph.placeholder<int32_t>("labels", {-1});
  const auto weights =
      graph.variable("weights", crochet::Tensor::zeros<float>({kPixels, kClasses}));
  const auto bias = graph.variable("bias", crochet::Tensor::zeros<float>({kClasses}));

  // Outputs gradients:0 (by the weights), :1 (by the bias) and :2 (the loss).
  const auto gradients = graph.op("gradients", {images, labels, weights, bias}, softmax_gradients);
  const auto apply =
      graph.op("apply", {gradients[0], gradients[1], replace(weights), update(bias)},
               [](crochet::ConstMatrix dw, crochet::ConstVector<float> db, crochet::ConstMatrix w,
                  crochet::Matrix next_w, crochet::Vector<float> b) {
                 next_w = w - kLearningRate * dw;
                 b -= kLearningRate * db;
               });
  const auto train_op = graph.group("train", {apply, graph.increment_global_step()});
  graph.add_to_collection(crochet::kSummariesCollection, graph.name("loss", gradients[2]));
  graph.op("accuracy", {images, labels, weights, bias}, softmax_accuracy);
  crochet::Tracker(graph, "")("batches",
                              batches);  // The order of samples is saved with the variables.

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
        while (!session.should_stop()) {
          const Batch batch = batches.next();
          session.run(train_op, {{images, images_of(batch)}, {labels, labels_of(batch)}});
        }
      });

  if (const crochet::FetchValues& value = accuracy->final_ops_values())
    fmt::print("accuracy {:.2f} %\n", 100 * value.scalar<float>());
  fmt::print("{}\n", report);
  return report.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Learns to read hand-written digits with a graph of named operations.", "graph");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "graph: " << error.what() << '\n';
    return crochet::pending_signal() == 0 ? 1 : 128 + crochet::pending_signal();
  }
}
