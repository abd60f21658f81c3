// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains with one of LibTorch's optimizers, from the last checkpoint on, and prints the step at
// which it began and a checksum of all it has at the end.
//
//   libtorch_training DIRECTORY OPTIMIZER THREADS LAST_STEP
#include <cstdio>
#include <cstdlib>
#include <string>

#include <torch/torch.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "tests/libtorch/test_training.h"

namespace {

// Of the names and elements of all that the checkpoint has.
unsigned checksum(const std::string& prefix) {
  uint32_t sum = 0;
  const auto add = [&](const void* data, size_t size) {
    sum = crochet::internal::extend_crc32c(sum, {static_cast<const std::byte*>(data), size});
  };
  const crochet::CheckpointReader reader(prefix);
  for (const auto& [name, info] : reader.tensors()) {
    add(name.data(), name.size());
    const crochet::Tensor value = reader.read(name);
    if (value.dtype() == crochet::DType::kString) {
      for (const std::string& text : value.strings()) add(text.data(), text.size());
    } else {
      add(value.bytes().data(), value.bytes().size());
    }
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string directory = argv[1];
  torch::set_num_threads(std::atoi(argv[3]));
  torch::manual_seed(static_cast<uint64_t>(std::atoi(argv[4])));
  crochet::TestTraining training(argv[2]);
  crochet::Loop loop({.checkpoint = {.dir = directory, .every_steps = 3},
                      .summaries = {.every_steps = 0, .count_every_steps = 0},
                      .hooks = {crochet::StopAtStepHook({.last_step = std::atoi(argv[4])})}});
  crochet::libtorch::track_all(loop, {.model = training.net,
                                      .optimizer = *training.optimizer,
                                      .scheduler = training.schedule,
                                      .batches = training.batches});
  int64_t first = -1;
  const crochet::RunReport report = loop.run([&](crochet::Step& step) {
    if (first < 0) first = step.number() - 1;
    training.step();
  });
  std::printf("%ld %08x %.9g\n", static_cast<long>(first),
              checksum(directory + "/model.ckpt-" + std::to_string(report.last_step)),
              training.loss.defined() ? training.loss.item<float>() : 0);
}
