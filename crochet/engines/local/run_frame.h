// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "crochet/engines/local/plan.h"

namespace crochet::local {

// The values of one run, each output at its place.
class RunFrame {
 public:
  // Puts the fed values at their places, once they are known to be what their outputs must be.
  // Throws: InvalidArgumentError for a value of a wrong type or shape.
  void feed(const Feeds& feeds);
  // Takes fed values over those that an operation computed for the same outputs.
  void feed_again(const Feeds& feeds);
  // Gives away what was asked for.
  void fetch(const Plan& plan, std::span<const Output> fetches, std::span<Tensor> results);
  // Lets go of all values: a held tensor would cost the next update a copy.
  void clear(const Plan& plan);

  std::span<Tensor> values() { return values_; }
  std::span<Tensor> outputs(const Graph::Node& node) {
    return std::span(values_).subspan(node.call.first_place, static_cast<size_t>(node.num_outputs));
  }

 private:
  friend class RunFramePool;
  std::vector<Tensor> values_;
};

// Frames that are used again.
//
// Thread-safe.
class RunFramePool {
 public:
  // A frame with a place for each output, for the length of a run.
  class Lease {
   public:
    // Requires: all arguments outlive this.
    Lease(RunFramePool& pool, size_t num_places, const Plan& plan);
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
  std::unique_ptr<RunFrame> take();
  void give_back(std::unique_ptr<RunFrame> frame) noexcept;

  std::mutex mutex_;  // Guards what follows.
  std::vector<std::unique_ptr<RunFrame>> idle_;
  size_t num_frames_ = 0;
};

}  // namespace crochet::local
