// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains a net on the digits with LibTorch, in as many processes as torchrun, mpirun, Slurm or
// run_data_parallel.py starts: each has a part of every batch. Resumes from the last checkpoint.
//
//   digits_data_parallel DIRECTORY STEPS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <vector>

#include <torch/torch.h>

#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/batches.h"
#include "crochet/libtorch/data_parallel.h"
#include "crochet/libtorch/join.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "digits_data.h"

namespace {

constexpr int64_t kBatchSize = 96;  // Of all ranks together.

// The images as LibTorch's data.
class Images {
 public:
  explicit Images(const digits::Dataset& data)
      : images_(torch::empty({data.size(), digits::kPixels})),
        labels_(torch::empty({data.size()}, torch::kLong)) {
    for (int64_t i = 0; i < data.size(); ++i) {
      for (int64_t k = 0; k < digits::kPixels; ++k) images_[i][k] = data.images(k, i);
      labels_[i] = data.labels(i);
    }
  }
  size_t size() const { return static_cast<size_t>(labels_.size(0)); }
  torch::data::Example<> get_batch(const std::vector<size_t>& indices) const {
    const std::vector<int64_t> rows(indices.begin(), indices.end());
    const torch::Tensor chosen = torch::tensor(rows);
    return {images_.index_select(0, chosen), labels_.index_select(0, chosen)};
  }
  double accuracy(torch::nn::Sequential& net) const {
    const torch::NoGradGuard guard;
    net->eval();
    return net->forward(images_).argmax(1).eq(labels_).to(torch::kDouble).mean().item<double>();
  }

 private:
  torch::Tensor images_, labels_;
};

int train(const char* directory, int64_t num_steps) {
  const std::shared_ptr<crochet::Group> group = crochet::libtorch::join({.timeout_secs = 60});
  torch::set_num_threads(1);
  torch::manual_seed(static_cast<uint64_t>(group->rank()));  // Dropout differs from rank to rank.
  const digits::Digits data = digits::load_digits(digits::default_digits_file());
  torch::nn::Sequential net(torch::nn::Linear(digits::kPixels, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 64), torch::nn::ReLU(), torch::nn::Dropout(0.1),
                            torch::nn::Linear(64, digits::kClasses));
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.003));
  // The same order in all ranks.
  crochet::libtorch::Batches batches(Images(data.train), {.batch_size = kBatchSize, .seed = 1});
  crochet::libtorch::DataParallel parallel(*net, group);  // All ranks get the net of rank 0.

  crochet::Loop loop({.checkpoint = {.dir = directory, .every_steps = 20},
                      .ranks = {.group = group, .timeout_secs = 20},
                      .hooks = {crochet::StopAtStepHook({.last_step = num_steps}),
                                crochet::SignalHook({SIGTERM})}});
  crochet::libtorch::track_all(loop, {.model = net, .optimizer = adam, .batches = batches});
  double loss = 0;
  loop.scalar("loss", [&] { return loss; });
  const crochet::RunReport report = loop.run([&] {
    const torch::data::Example<> batch = batches.next();
    // The last batch of an epoch is smaller, and its parts might differ: the mean is the batch's.
    const int64_t count = batch.target.size(0);
    const int64_t first = count * group->rank() / group->size();
    const int64_t length = count * (group->rank() + 1) / group->size() - first;
    adam.zero_grad();
    const torch::Tensor sum =
        torch::nll_loss(torch::log_softmax(net->forward(batch.data.narrow(0, first, length)), 1),
                        batch.target.narrow(0, first, length), /*weight=*/{}, at::Reduction::Sum);
    const torch::Tensor mean =
        sum * (static_cast<double>(group->size()) / static_cast<double>(count));
    mean.backward();
    parallel.finish();
    adam.step();
    loss = mean.item<double>();  // Of this rank's part.
  });
  if (group->is_chief())
    std::printf("step %ld, accuracy %.4f\n", static_cast<long>(report.last_step),
                Images(data.test).accuracy(net));
  return report.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: digits_data_parallel DIRECTORY STEPS\n");
    return 2;
  }
  try {
    return train(argv[1], std::atol(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
