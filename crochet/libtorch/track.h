// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "crochet/base/error.h"
#include "crochet/base/export.h"
#include "crochet/run/tracker.h"

namespace torch {
namespace nn {
class Module;
template <typename Contained>
class ModuleHolder;
}  // namespace nn
namespace optim {
class LRScheduler;
class Optimizer;
class ReduceLROnPlateauScheduler;
}  // namespace optim
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize
namespace data::samplers {
template <typename BatchRequest>
class Sampler;
}  // namespace data::samplers
}  // namespace torch

// What Tracker calls for LibTorch's types: with this header, loops track them by name like any
// other value (docs/libtorch.md has a table of what is saved).
//
//   loop.track("net", net);
//   loop.track("adam", adam);
namespace crochet::inline v0 {

// Parameters and buffers, under their names: "net/fc.weight". A parameter that two modules share is
// saved once, under its first name. A restore writes into the memory that they have.
//
// Parameters are copied in the background, while a step runs (see OperatorFence); buffers between
// two steps, so they may change in the forward pass.
//
// Throws: InvalidArgumentError for sparse, quantized and undefined tensors. A save throws a
// FailedPreconditionError if a parameter was replaced since: by register_parameter(), or by
// assigning a member (linear->weight = w), which does not change what is registered.
CROCHET_EXPORT void track(Tracker& tracker, torch::nn::Module& module);

template <typename Contained>
void track(Tracker& tracker, torch::nn::ModuleHolder<Contained>& module) {
  if (module.is_empty())
    throw InvalidArgumentError("\"" + tracker.name() + "\" is tracked, but holds no module");
  track(tracker, static_cast<torch::nn::Module&>(*module));
}

template <std::derived_from<torch::nn::Module> Module>
void track(Tracker& tracker, std::shared_ptr<Module>& module) {
  if (!module)
    throw InvalidArgumentError("\"" + tracker.name() + "\" is tracked, but holds no module");
  track(tracker, static_cast<torch::nn::Module&>(*module));
}

// The state of each parameter, under its name if a tracked module has it, otherwise under its place
// among all parameters of the optimizer: "adam/exp_avg/net/fc.weight"; and the options of each
// parameter group: "adam/param_groups/0/lr". State that appears in the course of a run, or is gone,
// is restored like that.
//
// Adam, AdamW, SGD, RMSprop, Adagrad and LBFGS are known. Any other class is saved by way of its
// save() and load(); its state is copied between two steps.
//
// A restore throws an InvalidArgumentError, before anything is changed, for the state of another
// class of optimizer, other parameters, shapes or parameter groups.
CROCHET_EXPORT void track(Tracker& tracker, torch::optim::Optimizer& optimizer);

// The number of steps. The learning rates are in the optimizer's state.
CROCHET_EXPORT void track(Tracker& tracker, torch::optim::LRScheduler& scheduler);
// The best metric, and the counters. Only LibTorch 2 has this class.
CROCHET_EXPORT void track(Tracker& tracker, torch::optim::ReduceLROnPlateauScheduler& scheduler);

// A tensor that the program uses beside its modules, as the hidden state of a recurrent net. An
// undefined one has nothing in the checkpoint; a restore makes one that is undefined, but does not
// change the type or shape of one that is not.
CROCHET_EXPORT void track(Tracker& tracker, at::Tensor& tensor);

// A random generator: a program's own, or
// at::globalContext().defaultGenerator(at::kCPU).
CROCHET_EXPORT void track(Tracker& tracker, const at::Generator& generator);
namespace internal {

template <>
inline constexpr bool kIsHandle<at::Generator> = true;

// A holder has a default constructor, which does not compile if its module has none.
template <typename T>
requires std::derived_from<T, torch::nn::ModuleHolder<typename T::ContainedType>>
inline constexpr bool kCanBeMade<T> = std::default_initializable<typename T::ContainedType>;

}  // namespace internal

namespace libtorch {

// A value with functions like torch::nn::Module::save() and load(), which is copied between two
// steps.
struct ArchiveFunctions {
  std::function<void(torch::serialize::OutputArchive& archive)> save;
  std::function<void(torch::serialize::InputArchive& archive)> load;
};
CROCHET_EXPORT void track_archive(Tracker& tracker, ArchiveFunctions functions);

}  // namespace libtorch

// The position of a sampler, and its order. A torch::data::DataLoader reads ahead and resets its
// sampler at the beginning of an epoch, so that it cannot be resumed within one: use
// libtorch::Batches.
template <typename BatchRequest>
void track(Tracker& tracker, torch::data::samplers::Sampler<BatchRequest>& sampler) {
  libtorch::track_archive(
      tracker,
      {.save = [&sampler](torch::serialize::OutputArchive& archive) { sampler.save(archive); },
       .load = [&sampler](torch::serialize::InputArchive& archive) { sampler.load(archive); }});
}

}  // namespace crochet::inline v0
