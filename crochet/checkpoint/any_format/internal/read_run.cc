// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/read_run.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace crochet::inline v0::internal {
namespace {

// Reading a gap of this size takes no longer than starting another stream.
constexpr uint64_t kMaxGapBytes = uint64_t{1} << 20;

uint64_t begin_of(const StoredTensor& entry) { return static_cast<uint64_t>(entry.offset); }
uint64_t end_of(const StoredTensor& entry) {
  return begin_of(entry) + static_cast<uint64_t>(entry.size);
}

}  // namespace

ReadRun::ReadRun(const TensorSource& data, const std::vector<const StoredTensor*>& entries)
    : data_(data) {
  std::vector<const StoredTensor*> sorted = entries;
  const auto is_before_of = [](const StoredTensor* a, const StoredTensor* b) {
    return is_before(*a, *b);
  };
  if (!std::ranges::is_sorted(sorted, is_before_of)) std::ranges::sort(sorted, is_before_of);
  for (const StoredTensor* const entry : sorted) add(*entry);
}

bool ReadRun::is_before(const StoredTensor& a, const StoredTensor& b) {
  return std::tie(a.shard, a.offset, a.size) < std::tie(b.shard, b.offset, b.size);
}

void ReadRun::add(const StoredTensor& entry) {
  const bool goes_on = !runs_.empty() && runs_.back().shard == entry.shard &&
                       begin_of(entry) <= runs_.back().end + kMaxGapBytes;
  if (goes_on) {
    runs_.back().end = std::max(runs_.back().end, end_of(entry));
  } else {
    runs_.push_back({entry.shard, begin_of(entry), end_of(entry)});
  }
}

std::unique_ptr<ReadStream> ReadRun::open(size_t run) const {
  if (run >= runs_.size()) return nullptr;
  return data_.stream(runs_[run].shard, runs_[run].begin, runs_[run].end - runs_[run].begin);
}

void ReadRun::begin_run(size_t run) {
  const bool is_open = next_ != nullptr && run == current_ + 1;
  stream_ = is_open ? std::move(next_) : open(run);
  next_ = open(run + 1);
  current_ = run;
  position_ = runs_[run].begin;
}

ReadStream* ReadRun::running_at(const StoredTensor& entry) {
  const auto is_after = [&](const Run& run) {
    return std::pair(entry.shard, begin_of(entry)) < std::pair(run.shard, run.begin);
  };
  const auto after = std::ranges::partition_point(runs_, std::not_fn(is_after));
  if (after == runs_.begin()) return nullptr;
  const Run& found = *std::prev(after);
  if (found.shard != entry.shard || end_of(entry) > found.end) return nullptr;
  const auto run = static_cast<size_t>(&found - runs_.data());
  if (run > current_ || !stream_) begin_run(run);
  if (run < current_ || begin_of(entry) < position_) return nullptr;
  if (begin_of(entry) > position_) stream_->skip(begin_of(entry) - position_);
  position_ = end_of(entry);
  return stream_.get();
}

std::unique_ptr<ReadStream> ReadRun::open_alone(const StoredTensor& entry) const {
  return data_.stream(entry.shard, begin_of(entry), static_cast<uint64_t>(entry.size));
}

}  // namespace crochet::inline v0::internal
