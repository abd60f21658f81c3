// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/optim/schedulers/lr_scheduler.h>
#include <torch/optim/schedulers/step_lr.h>
#if __has_include(<torch/optim/schedulers/reduce_on_plateau_scheduler.h>)
#include <torch/optim/schedulers/reduce_on_plateau_scheduler.h>
#define CROCHET_HAS_REDUCE_ON_PLATEAU 1
#endif

#include "crochet/base/error.h"
#include "crochet/base/internal/class_name.h"
#include "crochet/base/internal/dynamic_type.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/libtorch/internal/scalar_type.h"
#include "crochet/libtorch/internal/tensor_memory.h"
#include "crochet/libtorch/internal/tracked_tensor.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/track.h"
#include "crochet/session/internal/held_generators.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0 {
namespace {

// Protected members may be named by a derived class.
struct OpenScheduler : torch::optim::LRScheduler {
  static auto step_count() { return &OpenScheduler::step_count_; }
};

#ifdef CROCHET_HAS_REDUCE_ON_PLATEAU
// Private ones by an explicit instantiation.
template <typename Tag, typename Tag::Member kMember>
struct OpenedMember {
  friend typename Tag::Member member_of(Tag) { return kMember; }
};
using Plateau = torch::optim::ReduceLROnPlateauScheduler;
struct PlateauBest {
  using Member = float Plateau::*;
  friend Member member_of(PlateauBest);
};
template struct OpenedMember<PlateauBest, &Plateau::best>;
struct PlateauBadEpochs {
  using Member = int Plateau::*;
  friend Member member_of(PlateauBadEpochs);
};
template struct OpenedMember<PlateauBadEpochs, &Plateau::num_bad_epochs>;
struct PlateauCooldown {
  using Member = int Plateau::*;
  friend Member member_of(PlateauCooldown);
};
template struct OpenedMember<PlateauCooldown, &Plateau::cooldown_counter>;
struct PlateauEpoch {
  using Member = int Plateau::*;
  friend Member member_of(PlateauEpoch);
};
template struct OpenedMember<PlateauEpoch, &Plateau::last_epoch>;
#endif

}  // namespace

void libtorch::track_base(Tracker& tracker, torch::optim::LRScheduler& scheduler) {
  tracker("step_count", scheduler.*OpenScheduler::step_count());
}

void track(Tracker& tracker, torch::optim::LRScheduler& scheduler) {
  if (!internal::is_exactly<torch::optim::StepLR>(scheduler))
    throw InvalidArgumentError(fmt::format(
        "scheduler \"{0}\": the state of the class {1} is not known: give it `void "
        "track(crochet::Tracker& tracker)`, which calls crochet::libtorch::track_base(tracker, "
        "*this) for the number of steps and tracker(\"name\", member) for each other member that "
        "changes, and track it as {1}, not as LRScheduler",
        tracker.name(), internal::class_name_of(scheduler, "of this scheduler")));
  libtorch::track_base(tracker, scheduler);
}

void track(Tracker& tracker, torch::optim::ReduceLROnPlateauScheduler& scheduler) {
#ifdef CROCHET_HAS_REDUCE_ON_PLATEAU
  tracker("best", scheduler.*member_of(PlateauBest()))("num_bad_epochs",
                                                       scheduler.*member_of(PlateauBadEpochs()))(
      "cooldown_counter", scheduler.*member_of(PlateauCooldown()))(
      "last_epoch", scheduler.*member_of(PlateauEpoch()));
#else
  static_cast<void>(scheduler);
  throw UnimplementedError(fmt::format(
      "\"{}\": this version of LibTorch has no ReduceLROnPlateauScheduler", tracker.name()));
#endif
}

void track(Tracker& tracker, at::Tensor& tensor) {
  if (tracker.is_sharded()) return libtorch::internal::track_shard(tracker, tensor);
  tracker.add_provider(
      {.list =
           [&tensor](Tracker& here) {
             if (tensor.defined()) libtorch::internal::track_tensor(here, "", tensor, nullptr);
           },
       .make =
           [&tensor](const StoredParts& stored) {
             const StoredParts::Part* const own = stored.find("");
             if (tensor.defined() || own == nullptr) return;
             tensor = libtorch::to_torch(Tensor(own->dtype, own->shape));
           },
       .check =
           [&tensor, name = tracker.name()](const StoredParts& stored) {
             const StoredParts::Part* const own = stored.find("");
             if (own == nullptr)
               throw InvalidArgumentError(
                   fmt::format("\"{}\": found parts of a value, expected one tensor", name));
             if (tensor.defined() &&
                 (libtorch::internal::dtype_of(tensor.scalar_type()) != own->dtype ||
                  libtorch::internal::shape_of(tensor) != own->shape))
               throw InvalidArgumentError(fmt::format(
                   "\"{}\": found {} {}, expected {}: leave the tensor undefined before the "
                   "restore if its type or shape may change",
                   name, own->dtype, own->shape, libtorch::internal::describe(tensor)));
           }});
}

namespace {

// Keeps the state, and puts it back when the result is destroyed.
std::shared_ptr<void> hold(at::Generator generator) {
  const std::lock_guard lock(generator.mutex());
  const at::Tensor state = generator.get_state();
  return std::shared_ptr<at::Tensor>(new at::Tensor(state), [generator](at::Tensor* kept) mutable {
    const std::unique_ptr<at::Tensor> owned(kept);
    internal::try_or_log([] { return "putting a random generator back"; },
                         [&] {
                           const std::lock_guard lock(generator.mutex());
                           generator.set_state(*owned);
                         });
  });
}

}  // namespace

void track(Tracker& tracker, const at::Generator& generator) {
  if (!generator.defined())
    throw InvalidArgumentError(
        fmt::format("\"{}\" is tracked, but is an undefined generator", tracker.name()));
  tracker.add_object(
      "", internal::make_generator_saveable(
              [generator = at::Generator(generator)]() mutable {
                const std::lock_guard lock(generator.mutex());
                return TensorMap{{"", libtorch::to_tensor(generator.get_state())}};
              },
              [generator = at::Generator(generator)](const TensorMap& state) mutable {
                const auto found = state.find("");
                if (found == state.end() || found->second.dtype() != DType::kUint8)
                  throw InvalidArgumentError("expected the bytes of a generator's state");
                const at::Tensor bytes = libtorch::to_torch(found->second);
                const std::lock_guard lock(generator.mutex());
                try {
                  generator.set_state(bytes);
                } catch (const c10::Error& error) {
                  throw InvalidArgumentError(
                      fmt::format("found {} bytes that are not the state of this generator: {}",
                                  bytes.numel(), error.what_without_backtrace()));
                }
              },
              [generator = at::Generator(generator)] { return hold(generator); }));
}

}  // namespace crochet::inline v0
