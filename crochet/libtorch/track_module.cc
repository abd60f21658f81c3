// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/module.h>

#include "crochet/libtorch/internal/module_state.h"
#include "crochet/libtorch/internal/registered_tensors.h"
#include "crochet/libtorch/track.h"

namespace crochet::inline v0 {
namespace libtorch {
namespace {

void track_module(Tracker& tracker, torch::nn::Module& module, bool saves_gradients) {
  libtorch::internal::ModuleState::track(
      tracker,
      {.parameters = [&module] { return libtorch::internal::parameters_of(module); },
       .buffers = [&module] { return libtorch::internal::buffers_of(module); },
       .check =
           [&module, names = libtorch::internal::ParameterNames::of(tracker.graph()),
            name = tracker.name()] { libtorch::internal::check_registered(module, *names, name); },
       .modes = libtorch::internal::modes_of(module, tracker.name()),
       .saves_gradients = saves_gradients});
}

}  // namespace

void WithoutGradients::track(Tracker& tracker) const {
  track_module(tracker, module_, /*saves_gradients=*/false);
}

}  // namespace libtorch

void track(Tracker& tracker, torch::nn::Module& module) {
  libtorch::track_module(tracker, module, /*saves_gradients=*/true);
}

}  // namespace crochet::inline v0
