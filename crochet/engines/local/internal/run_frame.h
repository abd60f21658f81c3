// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "crochet/engines/local/internal/plan.h"
#include "crochet/engines/local/internal/plan_cache.h"

namespace crochet::inline v0::local::internal {

// The values of one run, each output in its slot, and its plan.
class RunFrame {
 public:
  // Checks the fed values and puts them into their slots.
  // Throws: InvalidArgumentError for a value of a wrong type or shape.
  void feed(const Feeds& feeds);
  // Overwrites values that an operation computed with the values fed for the same outputs.
  void feed_again(const Feeds& feeds);
  // Moves the fetched values to `results`, one for each fetch of the plan.
  void fetch(std::span<Tensor> results);

  // True if it has the plan of such a run.
  bool runs(std::span<const Output> fetches, const Feeds& feeds) const {
    return plan_ && plan_->matches(fetches, feeds);
  }
  void share_plan(const RunFrame& other) { plan_ = other.plan_; }
  const Plan& plan() const { return *plan_; }
  std::span<Tensor> values() { return values_; }
  std::span<Tensor> outputs(const Node& node) {
    return std::span(values_).subspan(node.call.first_slot, static_cast<size_t>(node.num_outputs));
  }

 private:
  friend class RunFramePool;
  friend class RunValues;

  std::shared_ptr<const Plan> plan_;  // Of the latest run.
  std::vector<Tensor> values_;
};

// The values of a frame that is in use: each output of the graph has a slot.
class RunValues {
 public:
  RunValues(RunFrame& frame, const Graph& graph) : frame_(frame) {
    if (frame.values_.size() < GraphState::of(graph).num_slots)
      frame.values_.resize(GraphState::of(graph).num_slots);
  }
  // Releases them: a held tensor would cost the next update a copy.
  ~RunValues() {
    for (const Plan::SlotRange& slots : frame_.plan_->slots())
      for (size_t slot = slots.begin; slot < slots.end; ++slot) frame_.values_[slot].reset();
  }
  RunValues(const RunValues&) = delete;
  RunValues& operator=(const RunValues&) = delete;

 private:
  RunFrame& frame_;
};

// Reusable frames. A thread that runs the same again and again gets the same frame, with its plan,
// and takes no lock.
//
// Thread-safe.
class RunFramePool {
 public:
  RunFramePool() = default;
  ~RunFramePool();
  RunFramePool(const RunFramePool&) = delete;
  RunFramePool& operator=(const RunFramePool&) = delete;

  // A frame with the plan of a run, for its duration.
  class Lease {
   public:
    // Requires: `pool` outlives this. Throws: as Plan's constructor does.
    Lease(RunFramePool& pool, const Graph& graph, std::span<const Output> fetches,
          const Feeds& feeds);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    RunFrame* operator->() { return frame_.get(); }
    RunFrame& operator*() { return *frame_; }

   private:
    RunFramePool& pool_;
    std::unique_ptr<RunFrame> frame_;
  };

 private:
  std::unique_ptr<RunFrame> take();
  void put(std::unique_ptr<RunFrame> frame) noexcept;

  std::atomic<RunFrame*> latest_ = nullptr;  // The frame that was used last, unless it is in use.
  PlanCache plans_;
  std::mutex mutex_;  // Guards what follows.
  std::vector<std::unique_ptr<RunFrame>> idle_;
  size_t num_frames_ = 0;
};

}  // namespace crochet::inline v0::local::internal
