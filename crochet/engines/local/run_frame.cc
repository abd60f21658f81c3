// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/run_frame.h"

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::local {
namespace {

size_t slot_of(const Output& output) { return node_of(output).slot(output.index()); }

void check_feed(const Output& output, const Tensor& value) {
  const Graph::Node& node = node_of(output);
  const TensorSpec* const spec = node.output_spec(output.index());
  if (spec == nullptr || spec->admits(value)) return;
  throw InvalidArgumentError(fmt::format(
      "{} \"{}\" was fed {}, expected {}", node.is_placeholder ? "placeholder" : "output",
      node.is_placeholder ? node.name : to_string(output), describe(value), to_string(*spec)));
}

}  // namespace

void RunFrame::feed(const Feeds& feeds) {
  for (const auto& [output, value] : feeds) check_feed(output, value);
  feed_again(feeds);
}

void RunFrame::feed_again(const Feeds& feeds) {
  for (const auto& [output, value] : feeds) values_[slot_of(output)] = value;
}

void RunFrame::fetch(const Plan& plan, std::span<const Output> fetches, std::span<Tensor> results) {
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (!fetches[i].has_value()) {
      results[i] = Tensor();
    } else if (plan.is_last_fetch(i)) {
      results[i] = std::move(values_[slot_of(fetches[i])]);
    } else {
      results[i] = values_[slot_of(fetches[i])];
    }
  }
}

void RunFrame::clear(const Plan& plan) {
  for (const Plan::SlotRange& slots : plan.slots())
    for (size_t slot = slots.begin; slot < slots.end; ++slot) values_[slot].reset();
}

RunFramePool::Lease::Lease(RunFramePool& pool, size_t num_slots, const Plan& plan)
    : pool_(pool), plan_(plan) {
  const std::lock_guard lock(pool.mutex_);
  if (pool.idle_.empty()) {
    frame_ = std::make_unique<RunFrame>();
    pool.idle_.reserve(++pool.num_frames_);  // So that returning the frame cannot fail.
  } else {
    frame_ = std::move(pool.idle_.back());
    pool.idle_.pop_back();
  }
  if (frame_->values_.size() < num_slots) frame_->values_.resize(num_slots);
}

RunFramePool::Lease::~Lease() {
  frame_->clear(plan_);
  const std::lock_guard lock(pool_.mutex_);
  pool_.idle_.push_back(std::move(frame_));
}

}  // namespace crochet::inline v0::local
