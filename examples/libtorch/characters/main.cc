// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Learns to write like a text, one character after the other, with a transformer of LibTorch. Run
// it twice, or kill it and run it again: it resumes where it was, and ends with the same bits.
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <crochet/crochet.h>
#include <crochet/fmt.h>
#include <crochet/libtorch/tensor.h>
#include <crochet/libtorch/track.h>
#include <fmt/format.h>
#include <torch/torch.h>

namespace {

constexpr int64_t kContext = 64;      // Characters that the net sees.
constexpr int64_t kCharacters = 128;  // Of ASCII.

struct NetImpl : torch::nn::Module {
  NetImpl() {
    using namespace torch::nn;
    constexpr int64_t kWidth = 96;
    embedding = register_module("embedding", Embedding(kCharacters, kWidth));
    positions = register_parameter("positions", torch::randn({kContext, 1, kWidth}) * 0.02);
    const auto layer = TransformerEncoderLayerOptions(kWidth, 4).dim_feedforward(4 * kWidth);
    encoder = register_module("encoder", TransformerEncoder(TransformerEncoderLayer(layer), 2));
    output = register_module("output", Linear(kWidth, kCharacters));
  }
  // From characters [time, batch] to scores of each next one [time, batch, kCharacters].
  torch::Tensor forward(const torch::Tensor& text) {
    const int64_t length = text.size(0);
    const auto past = torch::nn::TransformerImpl::generate_square_subsequent_mask(length);
    return output(encoder(embedding(text) + positions.slice(0, 0, length), past));
  }
  // In nats per character, over windows [kContext + 1, batch].
  torch::Tensor loss(const torch::Tensor& windows) {
    const auto scores = forward(windows.slice(0, 0, -1)).reshape({-1, kCharacters});
    return torch::nn::functional::cross_entropy(scores, windows.slice(0, 1).reshape({-1}));
  }

  torch::Tensor positions;
  torch::nn::Embedding embedding{nullptr};
  torch::nn::TransformerEncoder encoder{nullptr};
  torch::nn::Linear output{nullptr};
};
TORCH_MODULE(Net);

torch::Tensor encoded(const std::string& text) {
  return torch::tensor(std::vector<int64_t>(text.begin(), text.end())).bitwise_and(127);
}

double held_out_loss(Net& net, const torch::Tensor& windows) {
  const torch::NoGradGuard no_grad;
  net->eval();
  const double loss = net->loss(windows).item<double>();
  net->train();
  return loss;
}

// Continues a text.
std::string sample(Net& net, const std::string& beginning, int count) {
  const torch::NoGradGuard no_grad;
  net->eval();
  torch::Tensor text = encoded(beginning);
  for (int i = 0; i < count; ++i) {
    const torch::Tensor scores = net->forward(text.slice(0, -kContext).unsqueeze(1))[-1][0];
    text = torch::cat({text, torch::multinomial(torch::softmax(scores / 0.7, 0), 1)});
  }
  return {text.data_ptr<int64_t>(), text.data_ptr<int64_t>() + text.numel()};
}

int train(int64_t steps, const std::string& dir, const std::string& text_file) {
  const torch::Tensor text = encoded(crochet::read_file(crochet::FileSystem::posix(), text_file));
  const int64_t split = text.size(0) * 9 / 10;
  const auto windows = text.slice(0, 0, split).unfold(0, kContext + 1, 1);
  const auto test = text.slice(0, split).unfold(0, kContext + 1, kContext).t();
  torch::manual_seed(1);
  Net net;
  torch::optim::AdamW adam(net->parameters(), 2e-3);
  torch::optim::StepLR schedule(adam, 300, 0.5);
  torch::Tensor loss;
  double gradient_norm = 0;

  const auto evaluate = [&] {
    return crochet::Metrics{{"held_out_loss", held_out_loss(net, test)}};
  };
  crochet::EvaluationHook evaluation(
      {.every_n_steps = 100, .evaluate = evaluate, .output_dir = dir});
  const crochet::MetricSource held_out = evaluation.metric("held_out_loss");
  crochet::Loop loop(
      {.checkpoint = {.dir = dir,
                      .every_steps = 100,
                      .saving = {.metrics = {held_out}},
                      .saver = {.keep_best = crochet::KeepBest{"held_out_loss"}}},
       .summaries = {.every_steps = 20},
       .hooks = {crochet::StopAtStepHook({.last_step = steps}), crochet::NanTensorHook("loss"),
                 std::move(evaluation), crochet::stop_if_no_decrease_hook(held_out, 500),
                 crochet::ProgressBarHook({.values = {"loss"}}),
                 crochet::SignalHook({SIGINT, SIGTERM})}});
  crochet::libtorch::track_all(loop, {.model = net, .optimizer = adam, .scheduler = schedule});
  loop.scalar("loss", [&] { return loss; });
  loop.scalar("gradient_norm", [&] { return gradient_norm; });
  loop.scalar("learning_rate", [&] { return adam.param_groups()[0].options().get_lr(); });
  loop.histogram("embedding", [&] { return net->embedding->weight; });

  const crochet::RunReport report = loop.run([&] {
    adam.zero_grad();
    // Drawn from LibTorch's generator, which is tracked: a resumed run has the same batches.
    loss =
        net->loss(windows.index_select(0, torch::randint(windows.size(0), {24}, torch::kLong)).t());
    loss.backward();
    gradient_norm = torch::nn::utils::clip_grad_norm_(net->parameters(), 1.0);
    adam.step();
    schedule.step();
  });

  if (report.signal == 0) {  // After a signal there is no time for it.
    crochet::load(dir, crochet::CheckpointChoice::best("held_out_loss"), {{"model", net}});
    fmt::print("held-out loss at its best {:.3f} nats per character\n\n{}\n\n",
               held_out_loss(net, test), sample(net, "The loop ", 300));
  }
  fmt::print("{}\n", report);
  return report.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  int64_t steps = 1000;
  std::string dir = "runs/libtorch_characters", text = CHARACTERS_TEXT;
  CLI::App app("Learns to write like a text, with LibTorch.", "libtorch_characters");
  app.add_option("--steps", steps, "Stop at this step, counted over all runs");
  app.add_option("--dir", dir, "Checkpoints and curves; an existing run is resumed");
  app.add_option("--text", text, "A text; its last tenth is held out");
  CLI11_PARSE(app, argc, argv);
  try {
    return train(steps, dir, text);
  } catch (const std::exception& error) {
    std::cerr << "libtorch_characters: " << error.what() << '\n';
    return crochet::pending_signal() == 0 ? 1 : 128 + crochet::pending_signal();
  }
}
