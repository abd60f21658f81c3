// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <stop_token>
#include <unordered_map>

#include "crochet/base/process_bound.h"
#include "crochet/base/thread.h"
#include "crochet/tensor/tensor.h"

namespace crochet::local {

// Memory that variables used before, for their next values.
//
// A save holds values for a while; those that change meanwhile need other memory, and fresh memory
// takes several times as long to be filled. All variables of a session share what is free, by its
// size: a save needs as much as changes until it is written, which is other variables each time.
//
// The first time that some is lacking, and it is some MiB in all, a thread makes and touches what
// is missing for all variables to change during one save. So only the first save meets fresh
// memory; and where a save is written before anything changes, none is ever made.
//
// A forked child has none of its parent's, and gets fresh memory.
//
// Not thread-safe: sessions use it under their run token.
class SpareMemory {
 public:
  SpareMemory() = default;
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;

  // There is one more variable of so many bytes.
  void expect(size_t num_bytes);
  // Of undefined content, and nobody else holds it: used before if there is some, fresh otherwise.
  // Throws: ResourceExhaustedError.
  Tensor take(DType dtype, const Shape& shape);
  // A former value; others may hold it for as long as they like.
  void give(Tensor former);

 private:
  struct OfOneSize {
    std::deque<Buffer> buffers;  // What was given first is free first.
    size_t num_variables = 0;
    size_t num_made = 0;  // Fresh ones.
  };

  // Worth to be made ahead, and not all of it is.
  static bool is_lacking(size_t num_bytes, const OfOneSize& same);
  void make_all_in_background();
  void make_all() noexcept;
  // Of those sizes that are lacking some; 0 if none is.
  size_t lacking_size();

  // What the thread shares.
  struct State {
    std::mutex mutex;  // Guards what follows.
    std::unordered_map<size_t, OfOneSize> by_size;
  };

  PerProcess<State> state_;
  std::stop_source stop_;
  Thread maker_;  // Last: it ends first.
};

}  // namespace crochet::local
