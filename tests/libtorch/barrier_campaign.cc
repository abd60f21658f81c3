// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Takes a snapshot before each step of trainings with each optimizer, and compares the checksums of
// its tensors with those of the tensors when it was taken. In every second step another thread
// reads it while the step runs, as savers do; in the others it is read afterwards.
//
//   barrier_campaign STEPS          fails if a tensor is torn
//   barrier_campaign STEPS control  writes without announcing: fails if none is torn
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <torch/torch.h>

#include "crochet/checkpoint/saver/saver.h"
#include "crochet/engines/local/graph.h"
#include "crochet/engines/local/internal/session.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/libtorch/track.h"
#include "crochet/tracking/tracker.h"
#include "tests/libtorch/test_training.h"

namespace {

class SilentBarrier final : public crochet::libtorch::OperatorBarrier {
  void raise() override {}
  void lower() noexcept override {}
};

struct Counts {
  int64_t steps = 0;
  int64_t tensors = 0;  // Compared.
  int64_t torn = 0;
};

using Sums = std::map<std::string, uint32_t>;

Sums checksums(const crochet::Snapshot& snapshot) {
  Sums sums;
  for (const auto& [name, tensor] : snapshot.tensors())
    if (tensor.dtype() != crochet::DType::kString)
      sums.emplace(name, crochet::internal::crc32c(tensor.bytes()));
  return sums;
}

// Waits for no copies.
Sums checksums_in_place(const crochet::Snapshot& snapshot) {
  Sums sums;
  std::vector<std::byte> buffer(size_t{4} << 10);
  for (const auto& [name, tensor] : snapshot.readable()) {
    if (tensor.dtype() == crochet::DType::kString) continue;
    uint32_t& sum = sums[name];
    const crochet::ReadBytes read = snapshot.pending(tensor);
    if (!read) sum = crochet::internal::crc32c(tensor.bytes());
    for (size_t begin = 0; read && begin < tensor.num_bytes(); begin += buffer.size()) {
      const auto piece =
          std::span(buffer).first(std::min(buffer.size(), tensor.num_bytes() - begin));
      read(begin, piece);
      sum = crochet::internal::extend_crc32c(sum, piece);
    }
  }
  return sums;
}

Counts train(const std::string& kind, int64_t steps, bool announces) {
  // Matrices of 16 KiB and more: smaller ones are copied at once.
  torch::nn::Sequential net(torch::nn::Linear(64, 128), torch::nn::BatchNorm1d(128),
                            torch::nn::ReLU(), torch::nn::Linear(128, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 64));
  const auto optimizer = crochet::make_optimizer(kind, net->parameters());
  crochet::local::Graph graph;
  if (!announces)
    graph.attach<crochet::libtorch::OperatorBarrier>(std::make_shared<SilentBarrier>());
  crochet::Tracker tracker(graph, "");
  tracker("net", net)("optimizer", *optimizer);
  crochet::Saver saver;
  saver.build(graph);
  crochet::local::internal::Session session(graph);
  Counts counts;
  for (; counts.steps < steps; ++counts.steps) {
    const torch::Tensor x = torch::randn({8, 64});
    const auto closure = [&] {
      optimizer->zero_grad();
      torch::Tensor loss = net->forward(x).square().mean();
      loss.backward();
      return loss;
    };
    if (counts.steps % 50 == 49) {  // With few gradients, values do not change.
      const torch::NoGradGuard no_grad;
      for (torch::Tensor& parameter : net->parameters()) parameter.normal_(0, 0.1);
    }
    const Sums expected = checksums(saver.snapshot(session));
    const crochet::Snapshot snapshot = saver.snapshot(session);
    Sums found;
    std::thread reader;
    const bool reads_meanwhile = counts.steps % 2 == 0;
    if (reads_meanwhile) reader = std::thread([&] { found = checksums_in_place(snapshot); });
    if (kind == "LBFGS") {
      optimizer->step(closure);
    } else {
      // As close to the snapshot as can be.
      optimizer->step();
      closure();
    }
    if (reads_meanwhile)
      reader.join();
    else
      found = checksums(snapshot);
    for (const auto& [name, sum] : found) {
      ++counts.tensors;
      counts.torn += expected.at(name) != sum;
    }
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  const bool is_control = argc == 3;
  const auto& kinds = crochet::all_optimizers();
  Counts sum;
  for (const std::string& kind : kinds) {
    const Counts counts =
        train(kind, std::atoll(argv[1]) / static_cast<int64_t>(kinds.size()), !is_control);
    std::printf("%s: %ld steps, %ld tensors compared, %ld torn\n", kind.c_str(),
                static_cast<long>(counts.steps), static_cast<long>(counts.tensors),
                static_cast<long>(counts.torn));
    std::fflush(stdout);
    sum.steps += counts.steps;
    sum.tensors += counts.tensors;
    sum.torn += counts.torn;
  }
  std::printf("in all: %ld steps, %ld tensors compared, %ld torn\n", static_cast<long>(sum.steps),
              static_cast<long>(sum.tensors), static_cast<long>(sum.torn));
  return is_control ? sum.torn == 0 : sum.torn > 0;
}
