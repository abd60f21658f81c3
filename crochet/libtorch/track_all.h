// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "crochet/base/export.h"
#include "crochet/libtorch/batches.h"  // What usual programs track.
#include "crochet/libtorch/tensor.h"   // Values and curves of a loop may be tensors.
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"

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

}  // namespace crochet::inline v0::libtorch
