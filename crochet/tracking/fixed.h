// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {
namespace internal {

template <typename T>
struct Fixed {
  using ReferenceToTracked = void;
  void track(Tracker& tracker) { tracker.track_fixed(value); }

  T& value;
};

}  // namespace internal

// A container whose entries the program determines, not the checkpoint: a restore from a checkpoint
// that has other entries or sizes, here or in what the container owns, is an error, unless options
// of the restore name them.
//
//   loop.track("layers", fixed(layers));
template <typename T>
auto fixed(T& value) {
  return internal::Fixed<T>{value};
}

}  // namespace crochet::inline v0
