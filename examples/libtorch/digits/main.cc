// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Learns to read hand-written digits with a convolutional net of LibTorch. Run it twice, or kill it
// and run it again: it resumes where it was, and ends with the same bits.
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <crochet/crochet.h>
#include <crochet/fmt.h>
#include <crochet/libtorch/batches.h>
#include <crochet/libtorch/tensor.h>
#include <crochet/libtorch/track.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include "digits_data.h"

namespace {

struct NetImpl : torch::nn::Module {
  NetImpl() {
    using namespace torch::nn;
    layers = register_module(
        "layers",
        Sequential(Conv2d(Conv2dOptions(1, 32, 3).padding(1)), BatchNorm2d(32), ReLU(),
                   Conv2d(Conv2dOptions(32, 32, 3).padding(1)), BatchNorm2d(32), ReLU(),
                   MaxPool2d(2), Conv2d(Conv2dOptions(32, 64, 3).padding(1)), BatchNorm2d(64),
                   ReLU(), Flatten(), Dropout(0.5), Linear(64 * 4 * 4, digits::kClasses)));
  }
  torch::Tensor forward(const torch::Tensor& images) { return layers->forward(images); }

  torch::nn::Sequential layers{nullptr};
};
TORCH_MODULE(Net);

// Images [1, 8, 8] and their classes.
struct Samples {
  explicit Samples(const digits::Dataset& data)
      : images(torch::empty({data.size(), 1, 8, 8})),
        labels(torch::empty({data.size()}, torch::kLong)) {
    std::copy_n(data.images.data(), data.images.size(), images.data_ptr<float>());
    std::copy_n(data.labels.data(), data.labels.size(), labels.data_ptr<int64_t>());
  }
  torch::data::Example<> get_batch(const std::vector<size_t>& indices) const {
    const auto rows = torch::tensor(std::vector<int64_t>(indices.begin(), indices.end()));
    return {images.index_select(0, rows), labels.index_select(0, rows)};
  }
  size_t size() const { return static_cast<size_t>(images.size(0)); }

  torch::Tensor images, labels;
};

// The images, all moved by the same way, up to a pixel.
torch::Tensor shifted(const torch::Tensor& images) {
  const torch::Tensor shift = torch::randint(3, {2}, torch::kLong);
  return torch::constant_pad_nd(images, {1, 1, 1, 1})
      .narrow(2, shift[0].item<int64_t>(), 8)
      .narrow(3, shift[1].item<int64_t>(), 8);
}

double accuracy(Net& net, const Samples& samples) {
  const torch::NoGradGuard no_grad;
  net->eval();
  const torch::Tensor right = net->forward(samples.images).argmax(1).eq(samples.labels);
  net->train();
  return right.to(torch::kDouble).mean().item<double>();
}

int train(int64_t steps, const std::string& dir) {
  const digits::Digits data = digits::load_digits(digits::default_digits_file());
  const Samples test(data.test);
  crochet::libtorch::Batches batches(Samples(data.train), {.batch_size = 32, .seed = 1});
  torch::manual_seed(1);
  Net net;
  torch::optim::AdamW adam(net->parameters(), 2e-3);
  torch::optim::StepLR schedule(adam, 300, 0.5);
  torch::Tensor loss;
  double gradient_norm = 0;

  const auto evaluate = [&] { return crochet::Metrics{{"accuracy", accuracy(net, test)}}; };
  crochet::EvaluationHook evaluation(
      {.every_n_steps = 100, .evaluate = evaluate, .output_dir = dir});
  const crochet::MetricSource held_out = evaluation.metric("accuracy");
  crochet::Loop loop(
      {.checkpoint = {.dir = dir,
                      .every_steps = 100,
                      .saving = {.metrics = {held_out}},
                      .saver = {.keep_best =
                                    crochet::KeepBest{"accuracy", 1, crochet::Better::kHigher}}},
       .summaries = {.every_steps = 20},
       .hooks = {crochet::StopAtStepHook({.last_step = steps}), crochet::NanTensorHook("loss"),
                 std::move(evaluation), crochet::stop_if_no_increase_hook(held_out, 600),
                 crochet::ProgressBarHook({.values = {"loss"}}),
                 crochet::SignalHook({SIGINT, SIGTERM})}});
  crochet::libtorch::track_all(
      loop, {.model = net, .optimizer = adam, .scheduler = schedule, .batches = batches});
  // Curves and histograms for TensorBoard.
  loop.scalar("loss", [&] { return loss; });
  loop.scalar("gradient_norm", [&] { return gradient_norm; });
  loop.scalar("learning_rate", [&] { return adam.param_groups()[0].options().get_lr(); });
  for (const auto& weight : net->named_parameters())
    if (weight.value().dim() > 1)
      loop.histogram("weights/" + weight.key(), [value = weight.value()] { return value; });

  const crochet::RunReport report = loop.run([&] {
    const auto [images, labels] = batches.next();
    adam.zero_grad();
    loss = torch::nn::functional::cross_entropy(net->forward(shifted(images)), labels);
    loss.backward();
    gradient_norm = torch::nn::utils::clip_grad_norm_(net->parameters(), 5.0);
    adam.step();
    schedule.step();
  });

  if (report.signal == 0) {  // After a signal there is no time for it.
    const double last = accuracy(net, test);
    const crochet::RestoreReport best =
        crochet::load(dir, crochet::CheckpointChoice::best("accuracy"), {{"model", net}});
    fmt::print("held-out accuracy {:.2f} %, at its best {:.2f} % ({})\n", 100 * last,
               100 * accuracy(net, test), best.prefix);
  }
  fmt::print("{}\n", report);
  return report.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  int64_t steps = 1500;
  std::string dir = "runs/libtorch_digits";
  CLI::App app("Learns to read hand-written digits with LibTorch.", "libtorch_digits");
  app.add_option("--steps", steps, "Stop at this step, counted over all runs");
  app.add_option("--dir", dir, "Checkpoints and curves; an existing run is resumed");
  CLI11_PARSE(app, argc, argv);
  try {
    return train(steps, dir);
  } catch (const std::exception& error) {
    std::cerr << "libtorch_digits: " << error.what() << '\n';
    return crochet::pending_signal() == 0 ? 1 : 128 + crochet::pending_signal();
  }
}
