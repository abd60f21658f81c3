// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <stop_token>
#include <unordered_map>

#include "crochet/base/internal/process_bound.h"
#include "crochet/base/internal/thread.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::local::internal {

// Memory that variables used earlier, for their next values.
//
// A save holds values for a while; variables that change meanwhile need other memory, and filling
// fresh memory takes several times as long. All variables of a session share free memory, by its
// size: a save needs as much as changes until it is written, in other variables each time.
//
// The first time that memory is missing, and it is some MiB in total, a thread allocates and
// touches what is needed for all variables to change during one save. So only the first save uses
// fresh memory; and if each save is written before anything changes, none is ever allocated.
//
// A forked child uses none of its parent's, but fresh memory.
//
// Not thread-safe: sessions use it under their run token.
class SpareMemory {
 public:
  SpareMemory() = default;
  ~SpareMemory();
  SpareMemory(const SpareMemory&) = delete;
  SpareMemory& operator=(const SpareMemory&) = delete;

  // Announces one more variable of `num_bytes` bytes.
  void expect(size_t num_bytes);
  // Memory with undefined contents that nobody else holds: spare memory if there is some, otherwise
  // fresh. Throws: ResourceExhaustedError.
  Tensor take(DType dtype, const Shape& shape);
  // Returns the memory of an earlier value, which others may still hold for any time.
  void give(Tensor former);

 private:
  struct OfOneSize {
    std::deque<Buffer> buffers;  // The oldest first.
    size_t num_variables = 0;
    size_t num_made = 0;  // Fresh buffers.
  };

  // True if this size is worth allocating ahead and some of it is still missing.
  static bool is_lacking(size_t num_bytes, const OfOneSize& same);
  void make_all_in_background();
  void make_all() noexcept;
  // A size that is lacking; 0 if there is none.
  size_t lacking_size();

  // Shared with the thread.
  struct State {
    std::mutex mutex;  // Guards what follows.
    std::unordered_map<size_t, OfOneSize> by_size;
  };

  crochet::internal::PerProcess<State> state_;
  std::stop_source stop_;
  crochet::internal::Thread maker_;  // Last: it ends first.
};

}  // namespace crochet::inline v0::local::internal
