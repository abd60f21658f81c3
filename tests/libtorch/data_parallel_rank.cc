// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank of a data-parallel training. Trains in the processes of its environment with a part of
// each batch of 24 examples, and prints the step that it has reached, a checksum of its parameters
// and buffers, and an error. Rank 0 writes the parameters to FILE.
//
//   data_parallel_rank MODE STEPS FILE
//
//   plain        small buckets, so that there are several
//   accumulate   in two parts, the first of them without synchronizing
//   unused       one layer gets gradients in no rank, one in the last rank alone
//   norm         with batch norm, whose statistics depend on the part
//   backend      as plain, but a backend of the program's exchanges everything
//   backend-norm as norm, with that backend
//   backend-unused as unused, with that backend
//   backends     one rank has no backend
//   no-backend   one rank's backend cannot be made
//   shapes       one rank's module differs
//   options      one rank's options differ
//   twice        two backward() for one finish()
//   killed       one rank is killed in step 7 (kill -9), in the middle of backward()
//   killed-chief that is rank 0
//   stopped      one rank hangs from step 7 on
//   suspended    all ranks are suspended in step 7, for longer than their limit
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Declares the class in the next header.
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/libtorch/data_parallel.h"
#include "crochet/libtorch/join.h"

namespace {

// A backend as a program makes one for its GPUs, for tensors on the CPU.
class CountingBackend final : public c10d::ProcessGroupGloo {
 public:
  using ProcessGroupGloo::ProcessGroupGloo;

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    ++num_sums;
    return ProcessGroupGloo::allreduce(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    ++num_broadcasts;
    return ProcessGroupGloo::broadcast(tensors, options);
  }

  static inline int num_sums = 0;
  static inline int num_broadcasts = 0;
};

crochet::libtorch::TensorBackend counting_backend(bool fails) {
  return {
      .device = c10::DeviceType::CPU,
      .make = [fails](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                      std::chrono::milliseconds timeout)
          -> c10::intrusive_ptr<crochet::libtorch::C10dBackend> {
        if (fails) throw std::runtime_error("no such device");
        auto options = c10d::ProcessGroupGloo::Options::create(timeout);
        options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
        return c10::make_intrusive<CountingBackend>(store, rank, size, options);
      }};
}

constexpr int64_t kBatch = 24;
constexpr int kStepOfTheEvent = 7;
constexpr unsigned kShortSecs = 3;

// Odd ranks are suspended while they wait for the even ones. They wake one after the other.
void suspend(int rank) {
  const bool is_odd = rank % 2 == 1;
  if (::fork() == 0) {
    ::usleep(300'000);
    if (is_odd) ::kill(::getppid(), SIGSTOP);
    ::sleep(kShortSecs + 1 + (rank == 2 ? 1 : 0));
    ::kill(::getppid(), SIGCONT);
    ::_exit(0);
  }
  if (!is_odd) std::raise(SIGSTOP);
}

struct NetImpl : torch::nn::Module {
  NetImpl(int64_t width, bool has_norm, bool has_others) {
    first = register_module("first", torch::nn::Linear(6, width));
    second = register_module("second", torch::nn::Linear(width, width));
    if (has_norm) norm = register_module("norm", torch::nn::BatchNorm1d(width));
    third = register_module("third", torch::nn::Linear(width, 3));
    if (has_others) {
      unused = register_module("unused", torch::nn::Linear(2, 2));
      rare = register_module("rare", torch::nn::Linear(6, 3));
    }
    frozen = register_parameter("frozen", torch::randn({3}), /*requires_grad=*/false);
  }
  torch::Tensor forward(const torch::Tensor& x, bool uses_rare) {
    torch::Tensor hidden = torch::tanh(second(torch::tanh(first(x))));
    if (norm) hidden = norm(hidden);
    const torch::Tensor y = third(hidden) + frozen;
    return uses_rare ? y + rare(x) : y;
  }

  torch::nn::Linear first{nullptr}, second{nullptr}, third{nullptr}, unused{nullptr}, rare{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  torch::Tensor frozen;
};
TORCH_MODULE(Net);

// The same in all ranks.
std::pair<torch::Tensor, torch::Tensor> batch_of(int step) {
  const torch::Tensor numbers = torch::arange(kBatch * 6, torch::kFloat) + 1000 * step;
  const torch::Tensor x = torch::sin(numbers * 0.37F).reshape({kBatch, 6});
  return {x, (x.sum(1) > 0).to(torch::kLong) + (x.select(1, 0) > 0.5).to(torch::kLong)};
}

unsigned checksum(const Net& net) {
  uint32_t sum = 0;
  const auto add = [&](const torch::Tensor& tensor) {
    const torch::Tensor values = tensor.detach().contiguous();
    sum = crochet::internal::extend_crc32c(
        sum, {static_cast<const std::byte*>(values.data_ptr()), values.nbytes()});
  };
  for (const auto& each : net->parameters()) add(each);
  for (const auto& each : net->buffers()) add(each);
  return sum;
}

void write(const Net& net, const char* path) {
  std::ofstream file(path, std::ios::binary);
  for (const auto& each : net->parameters()) {
    const torch::Tensor values = each.detach().contiguous();
    file.write(static_cast<const char*>(values.data_ptr()),
               static_cast<std::streamsize>(values.nbytes()));
  }
}

int run(std::string mode, int num_steps, const char* path) {
  const bool has_backend = mode.find("backend") != std::string::npos;
  const bool lacks_backend = mode == "backends";
  const bool fails_backend = mode == "no-backend";
  if (mode.starts_with("backend-")) mode.erase(0, std::strlen("backend-"));
  const double timeout_secs =
      mode == "stopped" || mode == "suspended" || fails_backend ? kShortSecs : 60;
  const std::shared_ptr<crochet::Group> group =
      crochet::libtorch::join({.timeout_secs = timeout_secs, .connect_timeout_secs = 60});
  const int rank = group->rank();
  const bool is_last = rank == group->size() - 1;
  torch::set_num_threads(1);
  // Rank 0's parameters count. Those of a process alone are the same.
  torch::manual_seed(static_cast<uint64_t>(rank));
  Net net(mode == "shapes" && rank == 2 ? 9 : 8, mode == "norm", mode == "unused");
  torch::optim::Adam optimizer(net->parameters(),
                               torch::optim::AdamOptions(0.01).weight_decay(0.1));
  crochet::libtorch::DataParallelOptions options{
      .bucket_bytes = mode == "options" && rank == 1 ? size_t{301} : size_t{300}};
  options.timeout_secs = timeout_secs;
  if (has_backend && !(lacks_backend && rank == 1))
    options.backend = counting_backend(fails_backend && rank == 1);
  std::vector<torch::Tensor> at_start;
  int step = 0;
  try {
    crochet::libtorch::DataParallel parallel(*net, group, options);
    if (group->size() > 1) std::raise(SIGPIPE);  // As a write to a rank that is gone does.
    // DataParallel has given all ranks the values of rank 0.
    if (mode == "unused") at_start = {net->unused->weight.clone(), net->rare->weight.clone()};
    const int64_t part = kBatch / group->size();
    while (step < num_steps) {
      ++step;
      const auto [x, y] = batch_of(step);
      const auto loss_of = [&](int64_t begin, int64_t length) {
        const int64_t from = rank * part + begin;
        torch::Tensor logits = net->forward(x.narrow(0, from, length), mode == "unused" && is_last);
        return torch::nll_loss(torch::log_softmax(logits, 1), y.narrow(0, from, length));
      };
      optimizer.zero_grad();
      if (mode == "accumulate" || mode == "twice") {
        const torch::Tensor loss = loss_of(0, part / 2) / 2;
        if (mode == "accumulate") {
          const auto guard = parallel.no_sync();
          loss.backward();
        } else {
          loss.backward();
        }
        (loss_of(part / 2, part - part / 2) / 2).backward();
      } else {
        const bool is_event = step == kStepOfTheEvent && rank == (mode == "killed-chief" ? 0 : 2);
        const torch::Tensor loss = loss_of(0, part);
        torch::Tensor hidden = net->second->weight;
        if (is_event && (mode == "killed" || mode == "killed-chief"))
          // The gradients of the later layers are on their way.
          hidden.register_hook([](const torch::Tensor&) { std::raise(SIGKILL); });
        if (is_event && mode == "stopped") std::raise(SIGSTOP);
        if (step == kStepOfTheEvent && mode == "suspended") suspend(rank);
        loss.backward();
      }
      parallel.finish();
      optimizer.step();
    }
  } catch (const crochet::Error& error) {
    std::printf("rank %d step %d error %s: %s\n", rank, step, crochet::code_name(error.code()),
                error.what());
    return 1;
  }
  if (has_backend && group->size() > 1)
    // For each step some buckets; and rank 0's values, once or after each step.
    if (CountingBackend::num_sums < 2 * num_steps || CountingBackend::num_broadcasts < 1) {
      std::printf("rank %d step %d: the backend made %d sums and %d broadcasts\n", rank, step,
                  CountingBackend::num_sums, CountingBackend::num_broadcasts);
      return 1;
    }
  if (mode == "unused") {
    // Neither weight decay nor Adam's averages may move what has no gradient.
    const bool is_kept = net->unused->weight.equal(at_start[0]);
    const bool is_trained = !net->rare->weight.equal(at_start[1]);
    std::printf("rank %d step %d unused %s, rare %s, ", rank, step, is_kept ? "kept" : "changed",
                is_trained ? "trained" : "not trained");
    std::printf("sum %08x\n", checksum(net));
    return 0;
  }
  std::printf("rank %d step %d sum %08x\n", rank, step, checksum(net));
  if (rank == 0) write(net, path);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return run(argv[1], std::atoi(argv[2]), argv[3]);
}
