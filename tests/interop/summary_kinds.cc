// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0

// Writes summaries of all kinds and profiles into a directory, in two runs; the first one is
// lost from step 20 on:
//
//   summary_kinds <directory>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "crochet/crochet.h"

namespace crochet {
namespace {

constexpr int64_t kLostFrom = 20;
constexpr int64_t kLostUntil = 27;
constexpr int64_t kLastStep = 40;

void run_until(const std::string& directory, int64_t fails_at) {
  int64_t count = 0;
  const auto value = [&] { return static_cast<float>(count) + (fails_at > 0 ? 0.5F : 0); };
  Loop loop(
      {.checkpoint = {.dir = directory, .every_steps = kLostFrom},
       .summaries = {.every_steps = 1, .count_every_steps = 2},
       .hooks = {StopAtStepHook({.last_step = kLastStep}),
                 ProfilerHook({.save_steps = 5, .output_dir = directory, .show_memory = true})}});
  loop.track("count", count);
  loop.scalar("value", value);
  loop.scalar("odd", [&] { return count % 2 == 0 ? NAN : 1e300; });
  loop.scalar("step", [&] { return count; });
  loop.histogram("weights", [&] {
    return std::vector<double>{value(), -1, 0, 1e30, 1e-30, NAN, INFINITY, 1.7e308};
  });
  loop.histogram("empty", [] { return std::vector<float>(); });
  loop.text("sample", [&] { return fmt::format("größe *{}*", value()); });
  loop.text("table", [&] {
    return Tensor::from({"", fmt::format("{}", value()), "x", "y"}, Shape{2, 2});
  });
  loop.run([&] {
    if (++count == fails_at) throw std::runtime_error("power failure");
  });
}

// An evaluator is started again and again, while its job goes back once: the point of step 40 is
// withdrawn, and that of step 10, whose checkpoint is removed, is not.
void evaluate(const std::string& job) {
  const auto train_to = [&](int64_t last_step, const CheckpointChoice& which) {
    int64_t count = 0;
    Loop loop({.checkpoint = {.dir = job, .every_steps = 10, .saver = {.max_to_keep = 2}},
               .restore = {.which = which},
               .hooks = {StopAtStepHook({.last_step = last_step})}});
    loop.track("count", count);
    loop.run([&] { ++count; });
  };
  const auto evaluate_all = [&] {
    int64_t count = 0;
    Evaluator evaluator(
        {.checkpoint_dir = job, .checkpoints = {.timeout_secs = 0.0, .all_checkpoints = true}});
    evaluator.track("count", count);
    evaluator.run([&] { return Metrics{{"count", static_cast<double>(count)}}; });
  };
  for (const int64_t last_step : {10, 20, 20, 40}) {
    train_to(last_step, CheckpointChoice::newest());
    evaluate_all();
  }
  train_to(35, CheckpointChoice::at_step(30));
  evaluate_all();
}

// What TensorBoard's plugins show; check_plugins.py has the same numbers.
void run_plugins(const std::string& directory) {
  int64_t count = 0;
  const auto value_at = [](int64_t i) { return static_cast<uint8_t>(i * 7); };
  Loop loop({.checkpoint = {.dir = directory, .every_steps = 2},
             .summaries = {.every_steps = 1, .count_every_steps = 0},
             .hooks = {StopAtStepHook({.last_step = 2})}});
  loop.track("count", count);
  loop.hyperparameter("learning_rate", 0.5);
  loop.hyperparameter("layers", 3);
  loop.hyperparameter("nesterov", true);
  loop.hyperparameter("name", "größe");
  loop.scalar("value", [&] { return count; });
  for (const int64_t channels : {1, 3, 4})
    loop.image(fmt::format("image{}", channels), [&, channels] {
      Tensor pixels(DType::kUint8, {5, 6, channels});
      const auto elements = pixels.mutable_flat<uint8_t>();
      for (size_t i = 0; i < elements.size(); ++i)
        elements[i] = value_at(static_cast<int64_t>(i) + count);
      return pixels;
    });
  const auto writer = SummaryWriter::for_directory(directory);
  writer->add_layout(std::vector<LayoutCategory>{
      {.title = "losses",
       .charts = {{.title = "value", .tags = {"value", "loss.*"}}, {.title = "other"}}}});
  loop.run([&] {
    ++count;
    Tensor labels(DType::kBool, {100});
    std::vector<double> predictions;
    for (size_t i = 0; i < 100; ++i) {
      labels.mutable_flat<bool>()[i] = i * 37 % 10 < 4;
      predictions.push_back(static_cast<double>(i * 29 % 101) / 100);
    }
    writer->add_pr_curve("eval/digits", labels, Tensor::from(predictions), count, 11);
  });
}

}  // namespace
}  // namespace crochet

int main(int, char** argv) {
  try {
    crochet::run_until(argv[1], crochet::kLostUntil);
  } catch (const std::runtime_error&) {  // The second run resumes from the last checkpoint.
  }
  crochet::run_until(argv[1], -1);
  crochet::evaluate(std::string(argv[1]) + "/evaluated");
  crochet::run_plugins(std::string(argv[1]) + "/plugins");
}
