// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Adam, which gets the state of a layer with the first gradient of that layer: layers thaw in the
// course of the run. The state also has a variant, a pointer, and a distribution.
//
//   optimizer STEPS
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <crochet/crochet.h>

struct Layer {
  std::string name;
  std::vector<double> weights;
  void track(crochet::Tracker& tracker) { tracker("weights", weights); }
};
using Model = std::array<Layer, 3>;

class Adam {
 public:
  explicit Adam(const Model& model) : model_(model) {}

  void make(const crochet::StoredParts& stored) {
    moments_.clear();
    for (const std::string& name : stored.names())
      for (const Layer& layer : model_)
        if (layer.name == name) moments_[&layer];
  }
  void track(crochet::Tracker& tracker) {
    for (auto& [layer, moments] : moments_) tracker(layer->name, moments);
  }

  void apply(Layer& layer, const std::vector<double>& gradient, double rate) {
    auto [entry, is_new] = moments_.try_emplace(&layer);
    Moments& moments = entry->second;
    if (is_new) moments.first.resize(gradient.size()), moments.second.resize(gradient.size());
    ++moments.steps;
    for (size_t i = 0; i < gradient.size(); ++i) {
      double& m = moments.first[i] += 0.1 * (gradient[i] - moments.first[i]);
      double& v = moments.second[i] += 0.001 * (gradient[i] * gradient[i] - moments.second[i]);
      const auto steps = static_cast<double>(moments.steps);
      layer.weights[i] -= rate * (m / (1 - std::pow(0.9, steps))) /
                          (std::sqrt(v / (1 - std::pow(0.999, steps))) + 1e-8);
    }
  }
  size_t size() const { return moments_.size(); }

 private:
  struct Moments {
    std::vector<double> first, second;
    int64_t steps = 0;
    void track(crochet::Tracker& tracker) {
      tracker("first", first)("second", second)("steps", steps);
    }
  };
  const Model& model_;
  std::map<const Layer*, Moments> moments_;
};

struct WarmUp {
  int64_t steps_left = 300;
  void track(crochet::Tracker& tracker) { tracker("steps_left", steps_left); }
};
struct Decay {
  double rate = 0.01;
  std::string reason;
  void track(crochet::Tracker& tracker) { tracker("rate", rate)("reason", reason); }
};
struct Average {
  std::vector<double> sum;
  int64_t count = 0;
  void track(crochet::Tracker& tracker) { tracker("sum", sum)("count", count); }
};

int main(int, char** argv) {
  const int64_t last_step = std::atoll(argv[1]);
  Model model = {{{"input", std::vector<double>(4)},
                  {"middle", std::vector<double>(5)},
                  {"output", std::vector<double>(3)}}};
  Adam adam(model);
  std::variant<WarmUp, Decay> phase;
  std::unique_ptr<Average> average;
  std::mt19937_64 generator(9);
  std::normal_distribution<double> normal;

  crochet::Loop loop({.checkpoint = {.dir = "runs/adam", .every_steps = 101},
                      .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("model", model);
  loop.track("adam", adam);
  loop.track("phase", phase);
  loop.track("average", average);
  loop.track("generator", generator);
  loop.track("normal", normal);
  const crochet::RunReport report = loop.run([&](crochet::Step& step) {
    double rate = 0.001;
    if (auto* decay = std::get_if<Decay>(&phase)) rate = decay->rate *= 0.999;
    if (auto* warm_up = std::get_if<WarmUp>(&phase))
      if (--warm_up->steps_left == 0) phase = Decay{.rate = 0.02, .reason = "warm"};

    for (size_t i = 0; i < model.size(); ++i) {
      if (step.number() <= 600 - static_cast<int64_t>(i) * 300) continue;  // Still frozen.
      std::vector<double> gradient;
      for (const double weight : model[i].weights)
        gradient.push_back(weight - 1 + normal(generator));
      adam.apply(model[i], gradient, rate);
    }
    if (step.number() == 500) average = std::make_unique<Average>();
    if (average) {
      average->sum.resize(3);
      for (size_t i = 0; i < 3; ++i) average->sum[i] += model[2].weights[i];
      ++average->count;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());

  for (const Layer& layer : model) {
    std::printf("%s", layer.name.c_str());
    for (const double weight : layer.weights) std::printf(" %.17g", weight);
    std::printf("\n");
  }
  std::printf("%zu layers have moments; %.17g\n", adam.size(), normal(generator));
  if (average) std::printf("%.17g\n", average->sum[1] / static_cast<double>(average->count));
  if (auto* decay = std::get_if<Decay>(&phase))
    std::printf("%.17g %s\n", decay->rate, decay->reason.c_str());
}
