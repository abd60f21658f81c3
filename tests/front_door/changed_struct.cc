// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A struct gained a field, lost one and renamed one: the run of the old program is continued.
//
//   changed_struct old        the program of yesterday
//   changed_struct strict     today's, as it is: prints an error
//   changed_struct renamed    it knows that the kernel is what the weights were: prints another one
//   changed_struct resume     and has what that error names
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <crochet/crochet.h>

struct OldModel {
  std::vector<float> weights = {1, 2, 3};
  float bias = 1;
  int64_t seen = 0;

  void track(crochet::Tracker& tracker) { tracker("weights", weights)("bias", bias)("seen", seen); }
  void step() {
    for (float& each : weights) each *= 1.01f;
    bias /= 2;
    ++seen;
  }
};

struct Model {
  std::vector<float> kernel = {1, 2, 3};
  std::vector<float> momentum = {0.5f, 0.5f, 0.5f};
  int64_t seen = 0;

  void track(crochet::Tracker& tracker) {
    tracker("kernel", kernel)("momentum", momentum)("seen", seen);
  }
  void step() {
    for (size_t i = 0; i < kernel.size(); ++i) kernel[i] += momentum[i] *= 0.9f;
    ++seen;
  }
};

template <typename AnyModel>
static crochet::RunReport train(AnyModel& model, int64_t last_step,
                                crochet::RestoreOptions restore) {
  crochet::Loop loop({.checkpoint = {.dir = "runs/changed"},
                      .restore = std::move(restore),
                      .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("model", model);
  return loop.run([&] { model.step(); });
}

int main(int, char** argv) {
  const std::string part = argv[1];
  Model model;
  try {
    if (part == "old") {
      OldModel old;
      train(old, 100, {});
      std::printf("%.9g %ld\n", static_cast<double>(old.weights[0]), static_cast<long>(old.seen));
      return 0;
    }
    crochet::RestoreOptions restore;
    if (part == "renamed") restore = {.rename = {{"model/kernel", "model/weights"}}};
    if (part == "resume")
      restore = {.rename = {{"model/kernel", "model/weights"}},
                 .allow_missing = {"model/momentum"},
                 .allow_surplus = {"model/bias"}};
    const crochet::RunReport report = train(model, 200, restore);
    std::fprintf(stderr, "%s\n", to_string(report).c_str());
  } catch (const crochet::Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("%.9g %.9g %ld\n", static_cast<double>(model.kernel[0]),
              static_cast<double>(model.momentum[0]), static_cast<long>(model.seen));
}
