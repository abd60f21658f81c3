// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/run_frame.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::local::internal {
namespace {

size_t slot_of(const Output& output) { return node_of(output).slot(output.index()); }

void check_feed(const Output& output, const Tensor& value) {
  const Node& node = node_of(output);
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

void RunFrame::fetch(std::span<Tensor> results) {
  Tensor* result = results.data();
  for (const Plan::Fetch& fetch : plan_->fetches()) {
    if (fetch.slot == Plan::Fetch::kNoValue)
      result->reset();
    else if (fetch.is_last)
      *result = std::move(values_[fetch.slot]);
    else
      *result = values_[fetch.slot];
    ++result;
  }
}

RunFramePool::~RunFramePool() { delete latest_.load(); }

std::unique_ptr<RunFrame> RunFramePool::take() {
  if (RunFrame* const latest = latest_.exchange(nullptr, std::memory_order_acquire))
    return std::unique_ptr<RunFrame>(latest);
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    auto frame = std::make_unique<RunFrame>();
    idle_.reserve(++num_frames_);  // So that returning the frame cannot fail.
    return frame;
  }
  std::unique_ptr<RunFrame> frame = std::move(idle_.back());
  idle_.pop_back();
  return frame;
}

void RunFramePool::put(std::unique_ptr<RunFrame> frame) noexcept {
  std::unique_ptr<RunFrame> other(latest_.exchange(frame.release(), std::memory_order_acq_rel));
  if (!other) return;
  try {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(other));
  } catch (const std::bad_alloc&) {  // Then a later run makes a new one.
  }
}

RunFramePool::Lease::Lease(RunFramePool& pool, const Graph& graph, std::span<const Output> fetches,
                           const Feeds& feeds)
    : pool_(pool), frame_(pool.take()) {
  if (frame_->runs(fetches, feeds)) return;
  try {
    frame_->plan_ = pool_.plans_.find(graph, fetches, feeds);
  } catch (...) {
    pool_.put(std::move(frame_));
    throw;
  }
}

RunFramePool::Lease::~Lease() { pool_.put(std::move(frame_)); }

}  // namespace crochet::inline v0::local::internal
