// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "crochet/engines/local/plan.h"

namespace crochet::inline v0::local {

// The values of one run, each output in its slot.
class RunFrame {
 public:
  // Checks the fed values and puts them into their slots.
  // Throws: InvalidArgumentError for a value of a wrong type or shape.
  void feed(const Feeds& feeds);
  // Overwrites values that an operation computed with the values fed for the same outputs.
  void feed_again(const Feeds& feeds);
  // Moves the fetched values to `results`.
  void fetch(const Plan& plan, std::span<const Output> fetches, std::span<Tensor> results);
  // Releases all values: a held tensor would cost the next update a copy.
  void clear(const Plan& plan);

  std::span<Tensor> values() { return values_; }
  std::span<Tensor> outputs(const Graph::Node& node) {
    return std::span(values_).subspan(node.call.first_slot, static_cast<size_t>(node.num_outputs));
  }

 private:
  friend class RunFramePool;
  std::vector<Tensor> values_;
};

// Reusable frames.
//
// Thread-safe.
class RunFramePool {
 public:
  // A frame with a slot for each output, for the duration of a run.
  class Lease {
   public:
    // Requires: all arguments outlive this.
    Lease(RunFramePool& pool, size_t num_slots, const Plan& plan);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    RunFrame& frame() { return *frame_; }

   private:
    RunFramePool& pool_;
    const Plan& plan_;
    std::unique_ptr<RunFrame> frame_;
  };

 private:
  std::mutex mutex_;  // Guards what follows.
  std::vector<std::unique_ptr<RunFrame>> idle_;
  size_t num_frames_ = 0;
};

}  // namespace crochet::inline v0::local
