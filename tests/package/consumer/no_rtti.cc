// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled without run-time type information: hooks, state and errors of a program's own classes,
// a run that is interrupted by an error, and one that resumes.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "crochet/crochet.h"

#ifdef __cpp_rtti
#error "This file has to be compiled without run-time type information."
#endif

namespace {

class Sum final : public crochet::SessionRunHook {
 public:
  void after_run(crochet::SessionRunContext&, const crochet::SessionRunValues&) override {
    ++runs_;
  }
  crochet::SaveableMap saveables() override { return {{"runs", crochet::saveable_value(runs_)}}; }
  std::int64_t runs() const { return runs_; }

 private:
  std::int64_t runs_ = 0;
};

class Counter final : public crochet::Saveable {
 public:
  crochet::TensorMap save() const override { return {{"", crochet::Tensor::scalar(value)}}; }
  void restore(const crochet::TensorMap& state) override {
    value = crochet::single_value(state, crochet::DType::kInt64).scalar<std::int64_t>();
  }
  std::int64_t value = 0;
};

class PowerCut final : public std::runtime_error {
 public:
  PowerCut() : std::runtime_error("power cut") {}
};

struct Attached {
  int number = 0;
};

// The sum of the steps, of the hook's runs and of the object's, as of the end of the run.
std::vector<std::int64_t> train(const std::string& directory, std::int64_t last_step, bool fails) {
  std::vector<double> weights(3, 0.0);
  const auto counter = std::make_shared<Counter>();
  const auto sum = std::make_shared<Sum>();
  crochet::Loop loop({.checkpoint = {.dir = directory, .every_steps = 5},
                      .hooks = {sum, crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("weights", weights);
  loop.track("counter", *counter);
  try {
    loop.run([&](crochet::Step& step) {
      for (double& weight : weights) weight += 0.5;
      ++counter->value;
      if (fails && step.number() == 12) throw PowerCut();
    });
  } catch (const PowerCut&) {
    if (!fails) throw;
  }
  return {static_cast<std::int64_t>(weights.back() * 2), counter->value, sum->runs()};
}

}  // namespace

int main() {
  const std::string directory =
      std::filesystem::temp_directory_path() / ("no_rtti_" + std::to_string(getpid()));
  std::filesystem::remove_all(directory);
  train(directory, 30, true);
  const bool is_exact = train(directory, 30, false) == std::vector<std::int64_t>{30, 30, 30};
  std::filesystem::remove_all(directory);
  if (!is_exact) return 1;

  crochet::local::Graph graph;
  graph.attach(std::make_shared<Attached>(Attached{7}));
  graph.attach(std::make_shared<int>(3));
  const auto attached = graph.attached<Attached>();
  if (attached.size() != 1 || attached.front()->number != 7) return 2;
  // The library, which was compiled with type information, finds what the program attached.
  const auto saver = std::make_shared<crochet::Saver>();
  graph.attach(saver);
  if (crochet::registered_saver(graph) != saver) return 3;
  return 0;
}
