// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/track_all.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/session/rank_state.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::libtorch {
namespace {

// LibTorch's own generators, the CPU's first.
class Generators : public std::enable_shared_from_this<Generators> {
 public:
  Generators() {
    generators_.emplace_back("cpu", at::globalContext().defaultGenerator(at::kCPU));
    if (!at::globalContext().hasCUDA()) return;
    const auto* const cuda = c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA);
    for (int device = 0; device < cuda->deviceCount(); ++device)
      generators_.emplace_back(
          fmt::format("cuda:{}", device),
          at::globalContext().defaultGenerator(at::Device(at::kCUDA, static_cast<int8_t>(device))));
  }

  // In a group, each rank has its own: the masks of dropout differ from rank to rank.
  void track(Tracker& tracker) {
    tracker.graph().attach(shared_from_this());
    if (internal::RankState::find(tracker.graph()))
      tracker.track_per_rank(generators_, Regroup::kFresh);
    else
      generators_.track(tracker);
  }

 private:
  struct List : std::vector<std::pair<std::string, at::Generator>> {
    void track(Tracker& tracker) {
      for (const auto& [name, generator] : *this) tracker(name, generator);
    }
  };
  List generators_;
};

// The number of threads with which LibTorch computes.
class ThreadCount {
 public:
  void track(Tracker& tracker) {
    tracker.add_object("", internal::make_saveable(
                               [] {
                                 return TensorMap{{"", Tensor::scalar(present())}};
                               },
                               [](const TensorMap& state) {
                                 compare(single_value(state, DType::kInt64).scalar<int64_t>());
                               }));
  }

 private:
  static int64_t present() { return at::get_num_threads(); }
  static void compare(int64_t saved) {
    if (saved == present()) return;
    log_warning(fmt::format(
        "the checkpoint was saved with {0} threads of LibTorch, and the program has {1}: results "
        "are not the same to the bit; torch::set_num_threads({0}) makes them so",
        saved, present()));
  }
};

}  // namespace

void track_all(Loop& loop, const TrackAllOptions& options) {
  options.model.track(loop, "model");
  options.optimizer.track(loop, "optimizer");
  options.scheduler.track(loop, "scheduler");
  options.batches.track(loop, "batches");
  const auto generators = std::make_shared<Generators>();
  loop.track("generators", *generators);
  ThreadCount num_threads;
  loop.track("num_threads", num_threads);
}

}  // namespace crochet::inline v0::libtorch
