// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include "crochet/session/graph.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {
namespace internal {

// `Held` is a reference, or a span by value.
template <typename Held>
struct Sharded {
  using ReferenceToTracked = void;
  void track(Tracker& tracker) { tracker.track_part(value, shard); }

  Held value;
  Shard shard;
};

template <typename T>
struct ShardedRows {
  using ReferenceToTracked = void;
  void track(Tracker& tracker) { tracker.track_rows(value); }

  T& value;
};

template <typename T>
struct PerRank {
  using ReferenceToTracked = void;
  void track(Tracker& tracker) { tracker.track_per_rank(value, regroup); }

  T& value;
  Regroup regroup;
};

}  // namespace internal

// An array of which each rank of a group has a part, at a place that does not change. A checkpoint
// has all of it, under one name; it can be restored by any number of ranks, whatever parts these
// have, and read by other programs.
//
//   loop.track("field", sharded(rows, {.full_shape = {1000, 64}, .offset = {first_row, 0}}));
//
// The parts of all ranks must cover the array once; a part may be empty. A rank's part is an array
// of any type that is in the processor's memory: a vector, span, matrix or tensor. Its size is
// fixed once it is tracked.
template <typename T>
auto sharded(T&& array, Shard shard) {
  static_assert(std::is_lvalue_reference_v<T> || internal::kIsView<T>,
                "crochet cannot track a temporary: what is tracked must outlive the loop");
  return internal::Sharded<T>{std::forward<T>(array), std::move(shard)};
}

// Rows that move between ranks, such as particles: each rank has as many as it has, also none, and
// the numbers may be others at each save. `value` is a container of numbers or of structs that are
// stored as columns, or a struct of several such, which have the same rows. A checkpoint has the
// rows of all ranks as one array, in the order of the ranks. As many ranks as it was saved by have
// their rows again; of another number each has a contiguous part, whose sizes differ by one at
// most.
//
//   loop.track("particles", sharded(particles));
template <typename T>
auto sharded(T&& value) {
  static_assert(std::is_lvalue_reference_v<T>,
                "crochet cannot track a temporary: what is tracked must outlive the loop");
  return internal::ShardedRows<std::remove_reference_t<T>>{value};
}

// A value of which each rank has its own, such as a random generator. A checkpoint has those of all
// ranks, as "<name>/rank-0" and so on. If it is restored by another number of ranks, that is an
// InvalidArgumentError, or with Regroup::kFresh all of them keep their initial values.
template <typename T>
auto per_rank(T& value, Regroup regroup = Regroup::kRefuse) {
  return internal::PerRank<T>{value, regroup};
}

}  // namespace crochet::inline v0
