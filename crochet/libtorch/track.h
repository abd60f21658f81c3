// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/engines/local/graph.h"
#include "crochet/libtorch/batches.h"  // What usual programs track.
#include "crochet/libtorch/tensor.h"   // Values and curves of a loop may be tensors.
#include "crochet/loop/loop.h"
#include "crochet/tracking/tracker.h"

namespace torch {
namespace jit {
struct Module;
}  // namespace jit
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

// Parameters and buffers, under their names, "net/fc.weight", whichever the module has registered
// at a save: they may be replaced, resized by set_data() and moved to other devices. One that two
// modules share is saved once, under its first name. A restore writes into the memory that they
// have; a tensor whose size a training changed gets the checkpoint's size.
//
// For a training that resumes also what the next step may depend on: gradients, if they are not
// zero ("net/gradients/fc.weight"); training mode, requires_grad and probabilities of dropout,
// which a restore sets; and options of LibTorch's other layers and the number of hooks of a
// parameter, which it compares ("net/modes/..."). A restore logs in what the program differs.
//
// Parameters and gradients are copied in the background, while a step runs (see OperatorBarrier);
// buffers between two steps, so they may change in the forward pass.
//
// Throws: InvalidArgumentError for sparse, quantized and undefined tensors. A save throws a
// FailedPreconditionError if the module computes with other tensors than those it has registered,
// as after linear->weight = w.
CROCHET_EXPORT void track(Tracker& tracker, torch::nn::Module& module);
// The same for TorchScript, with its attributes that are numbers or texts.
CROCHET_EXPORT void track(Tracker& tracker, torch::jit::Module& module);

namespace internal {

// A module's own track() lists what it has beside its tensors; for these it calls
// track(tracker, static_cast<torch::nn::Module&>(*this)).
template <typename Module>
void track_module_or_itself(Tracker& tracker, Module* module) {
  if (module == nullptr)
    throw InvalidArgumentError("\"" + tracker.name() + "\" is tracked, but holds no module");
  if constexpr (TracksItself<Module>) {
    module->track(tracker);
  } else {
    track(tracker, static_cast<torch::nn::Module&>(*module));
  }
}

}  // namespace internal

template <typename Contained>
void track(Tracker& tracker, torch::nn::ModuleHolder<Contained>& module) {
  internal::track_module_or_itself(tracker, module.is_empty() ? nullptr : module.get());
}

template <std::derived_from<torch::nn::Module> Module>
void track(Tracker& tracker, std::shared_ptr<Module>& module) {
  internal::track_module_or_itself(tracker, module.get());
}

// The state of each parameter, under its name if a tracked module has it, otherwise under its place
// among all parameters of the optimizer: "adam/exp_avg/net/fc.weight"; and the options of each
// parameter group: "adam/param_groups/0/lr". State that appears in the course of a run, or is gone,
// is restored like that.
//
// Adam, AdamW, SGD, RMSprop, Adagrad and LBFGS are known. A custom class is saved by way of its
// save() and load(), and copied between two steps. If it has none, or is derived from a known
// class, it lists its state itself: see libtorch::track_base.
//
// A restore compares each part with the checkpoint, as it does other values. Parameter groups that
// were added in the training are added again. If the program was given another learning rate or
// other option than the run that saved, the checkpoint's counts and a warning has both, unless
// RestoreOptions::keep names it.
//
// Throws: InvalidArgumentError for a custom class whose state is not known. A save throws a
// FailedPreconditionError if a parameter that a tracked module had was replaced there, but not in
// the optimizer, or the other way round.
CROCHET_EXPORT void track(Tracker& tracker, torch::optim::Optimizer& optimizer);

// The number of steps, which is the state of StepLR. The learning rates are in the optimizer's
// state. Throws: InvalidArgumentError for a custom class, which lists its state itself: see
// libtorch::track_base.
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

// For the track() of a custom scheduler or optimizer: the state that its base class has. The class
// is tracked by its own type, not as its base.
//
//   struct Warmup : torch::optim::LRScheduler {
//     void track(Tracker& tracker) {
//       libtorch::track_base(tracker, *this);
//       tracker("cycle", cycle_);
//     }
//
// Of an optimizer that is derived from a class of LibTorch, this is all the state of that class.
CROCHET_EXPORT void track_base(Tracker& tracker, torch::optim::LRScheduler& scheduler);
CROCHET_EXPORT void track_base(Tracker& tracker, torch::optim::Optimizer& optimizer);

// Tracks a module without its gradients, for a program that sets them to zero before it uses them,
// as the first thing in a step: saves are smaller by the size of the parameters. (Calling
// zero_grad() at the end of a step instead saves the same, without this.)
//
//   loop.track("net", libtorch::without_gradients(*net));
class CROCHET_EXPORT WithoutGradients {
 public:
  using ReferenceToTracked = torch::nn::Module;
  explicit WithoutGradients(torch::nn::Module& module) : module_(module) {}
  void track(Tracker& tracker) const;

 private:
  torch::nn::Module& module_;
};
inline WithoutGradients without_gradients(torch::nn::Module& module) {
  return WithoutGradients(module);
}

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

namespace crochet::inline v0::libtorch {

// A value of any type that loops track, or nothing. Requires: the value outlives the loop.
class CROCHET_EXPORT Tracked {
 public:
  Tracked() = default;
  template <typename T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Tracked> &&
           !crochet::internal::TrackedReference<std::remove_cvref_t<T>>)
      Tracked(T&& value)  // NOLINT(google-explicit-constructor)
      : track_([&value](Loop& loop, std::string_view name) { loop.track(name, value); }) {
    static_assert(std::is_lvalue_reference_v<T>,
                  "crochet cannot track a temporary: what is tracked must outlive the loop");
  }
  template <crochet::internal::TrackedReference T>
  Tracked(T value)  // NOLINT(google-explicit-constructor)
      : track_([value](Loop& loop, std::string_view name) { loop.track(name, T(value)); }) {}

  void track(Loop& loop, std::string_view name) const {
    if (track_) track_(loop, name);
  }

 private:
  std::function<void(Loop& loop, std::string_view name)> track_;
};

struct TrackAllOptions {
  Tracked model = {};
  Tracked optimizer = {};
  Tracked scheduler = {};
  Tracked batches = {};
};

// Tracks all on which the steps of a usual loop depend, for a resume that is exact to the bit: the
// parts that are given, under the names of their options, LibTorch's own random generators (the
// CPU's, and each device's that is in use) under "generators", and the number of threads, under
// "num_threads". In a group, each rank has its own generators, which start afresh if the checkpoint
// is of another number of ranks; batches that differ from rank to rank are tracked by
// Loop::track("batches", per_rank(batches)).
//
//   libtorch::track_all(loop, {.model = net, .optimizer = adam, .batches = batches});
//
// With another number of threads the same program computes other bits: a restore logs a warning
// then, and does not change it (torch::set_num_threads).
//
// Programs with several models or optimizers track these by themselves, with Loop::track(), and
// call this for the rest.
CROCHET_EXPORT void track_all(Loop& loop, const TrackAllOptions& options);

// Adds the curves and values "learning_rate" ("learning_rate/<group>" if there are several groups
// of parameters), and "gradient_norm": the 2-norm of the gradients of all parameters together, as
// they are when the body returns, hence after they were clipped, and none in a step that has zeroed
// them with set_to_none. Computed only in steps in which a hook fetches them.
//
//   libtorch::add_scalars(loop, adam);
//
// `prefix` is for programs with several optimizers: "generator/". Requires: the optimizer outlives
// the run. Throws: AlreadyExistsError for a name in use.
CROCHET_EXPORT void add_scalars(Loop& loop, torch::optim::Optimizer& optimizer,
                                const std::string& prefix = "");

// Announces each write of a LibTorch operator to a tensor on the CPU before it happens, so that
// parameters and the state of optimizers are saved while a step runs.
//
// While a snapshot may need them, an observer of operators is installed, which costs about 1 us for
// each operator. It knows from an operator's schema to which arguments it writes. It does not see:
//
// - writes by raw pointer (data_ptr(), accessors, from_blob aliases);
// - writes that a schema does not have, as of batch norm to its running statistics: buffers of
//   modules are therefore copied between the steps;
// - operators on a thread that has switched observers off (at::DisableRecordFunctionGuard);
// - functions that do not pass the dispatcher, as those of at::cpu.
//
// Tensors on devices have a barrier of their own, which uses the same observer.
//
// before_raw_write() announces the first and the last kind. DebugOptions::check_torn_snapshots
// finds such writes; a save that finds one is not published, and from then on tensors are copied
// between the steps. A storage may be given other memory: a snapshot keeps what it reads.
class CROCHET_EXPORT OperatorBarrier : public WriteBarrier {
 public:
  // The one of a graph.
  static std::shared_ptr<OperatorBarrier> of(local::Graph& graph);

  OperatorBarrier() = default;

 protected:
  void raise() override;
  void lower() noexcept override;
};

// Announces that a step is about to write to a tensor by raw pointer, if it is a parameter, a
// buffer or the state of an optimizer:
//
//   for (const torch::Tensor& weight : net->parameters()) {
//     libtorch::before_raw_write(weight);
//     my_update(weight.data_ptr<float>(), weight.numel());
//   }
//
// Returns once pending copies of its memory are made; costs a few loads if there are none. For a
// tensor on a device it returns at once, and the device's current stream waits for the copies: call
// it in the stream that is about to write. Thread-safe.
CROCHET_EXPORT void before_raw_write(const at::Tensor& tensor);

}  // namespace crochet::inline v0::libtorch
