// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/libtorch/track.h"
#include "crochet/session/internal/rank_layout.h"
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
    if (crochet::internal::RankLayout::find(tracker.graph()))
      tracker.track_per_rank(generators_, Regroup::kFresh);
    else
      generators_.track(tracker);
  }

 private:
  // Another machine may have other devices: their generators have nothing to continue.
  struct List : std::vector<std::pair<std::string, at::Generator>> {
    void track(Tracker& tracker) {
      tracker.add_provider({.list = [this](Tracker& here) { list(here); },
                            .plan = [this](const StoredParts& stored) { return plan(stored); },
                            .make = [this, name = tracker.name()](
                                        const StoredParts& stored,
                                        const StoredParts&) { record_new(stored, name); }});
    }
    bool has(const std::string& name) const {
      return std::any_of(begin(), end(), [&](const auto& each) { return each.first == name; });
    }
    void list(Tracker& here) {
      for (const auto& [name, generator] : *this) here(name, generator);
      for (const std::string& name : absent_)
        here.add_object(name, crochet::internal::make_saveable(
                                  [] { return TensorMap(); },
                                  [full = here.name() + '/' + name](const TensorMap&) {
                                    log_warning(
                                        fmt::format("\"{}\" is left out: there is no such "
                                                    "device",
                                                    full));
                                  }));
    }
    std::vector<StatePart> plan(const StoredParts& stored) {
      std::vector<StatePart> parts;
      const auto add = [&](const std::string& name) {
        parts.push_back({.key = name,
                         .is_object = true,
                         .is_optional = is_of_device(name),
                         .is_fixed = !is_of_device(name)});
      };
      for (const auto& [name, generator] : *this) add(name);
      absent_.clear();
      for (const std::string& name : stored.names())
        if (is_of_device(name) && !has(name)) absent_.push_back(name);
      for (const std::string& name : absent_) add(name);
      return parts;
    }
    void record_new(const StoredParts& stored, const std::string& full_name) const {
      for (const auto& [name, generator] : *this)
        if (is_of_device(name) && stored.find(name) == nullptr)
          log_warning(
              fmt::format("\"{}/{}\" begins as the program seeded it: the checkpoint was "
                          "saved without this device",
                          full_name, name));
    }
    static bool is_of_device(const std::string& name) { return name != "cpu"; }

    std::vector<std::string> absent_ = {};  // Devices that a checkpoint has, and the program lacks.
  };
  List generators_;
};

// The number of threads with which LibTorch computes.
class ThreadCount {
 public:
  void track(Tracker& tracker) {
    tracker.add_object("", crochet::internal::make_saveable(
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
