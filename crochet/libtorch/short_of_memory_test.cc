// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole runs of a module and an optimizer while memory is short. However a run ends, the process
// lives on, and the next run resumes from the newest checkpoint.
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "tests/libtorch/test_training.h"
#include "tests/support/attack_allocations.h"

namespace crochet {
namespace {

// LibTorch finds the name of a class in a function that ends the process if it gets no memory.
class NamedNet final : public TestNetImpl {
 public:
  void pretty_print(std::ostream& stream) const override { stream << "NamedNet"; }
};

// The parameters after five steps, some of which may have been made by a run before this one.
at::Tensor train(const std::string& directory, Clock& clock) {
  // The destructor of an autograd graph ends the process if it gets no memory.
  const torch::NoGradGuard no_graph;
  torch::manual_seed(1);
  const auto net = std::make_shared<NamedNet>();
  torch::optim::Adam adam(net->parameters(), 0.1);
  Loop loop({.checkpoint = {.dir = directory, .every_steps = 2, .saver = {.max_to_keep = 2}},
             .summaries = {.every_steps = 0, .count_every_steps = 0},
             .hooks = {StopAtStepHook({.last_step = 5})},
             .clock = &clock});
  libtorch::track_all(loop, {.model = *net, .optimizer = adam});
  loop.run([&](Step& step) {
    for (at::Tensor& parameter : net->parameters())
      parameter.mutable_grad() = torch::full_like(parameter, static_cast<double>(step.number()));
    adam.step();
  });
  return torch::nn::utils::parameters_to_vector(net->parameters());
}

class ModuleShortOfMemoryTest : public testing::Test {
 protected:
  void attack(int64_t length, int64_t num_places) {
    const TempDirectory directory;
    const at::Tensor expected = train(directory / "run", clock_);
    attack_allocations(
        length, num_places, [this](const std::string& place) { train(place, clock_); },
        [&](const std::string& place) { return train(place, clock_).equal(expected); });
  }

  FakeClock clock_;
  LogCapture log_;
};

TEST_F(ModuleShortOfMemoryTest, ARunSurvivesAFailedAllocation) { attack(1, 150); }

TEST_F(ModuleShortOfMemoryTest, ARunSurvivesManyFailedAllocationsInARow) { attack(40, 80); }

}  // namespace
}  // namespace crochet
