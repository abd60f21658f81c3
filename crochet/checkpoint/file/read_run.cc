// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/file/read_run.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace crochet::inline v0::internal {
namespace {

// Reading a gap of this size takes no longer than starting another stream.
constexpr uint64_t kMaxGapBytes = uint64_t{1} << 20;

// What is read from one disk before the next. Small tensors that are next to each other in a file
// probably are so in memory, too, which is written faster in its order.
constexpr uint64_t kTurnBytes = uint64_t{1} << 20;

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
  auto known = disk_of_shard_.find(entry.shard);
  if (known == disk_of_shard_.end()) {
    const size_t disk =
        disk_of_name_.emplace(data_.disk_of(entry.shard), disks_.size()).first->second;
    if (disk == disks_.size()) disks_.emplace_back();
    known = disk_of_shard_.emplace(entry.shard, disk).first;
  }
  std::vector<Run>& runs = disks_[known->second].runs;
  const bool goes_on = !runs.empty() && runs.back().shard == entry.shard &&
                       begin_of(entry) <= runs.back().end + kMaxGapBytes;
  if (goes_on) {
    runs.back().end = std::max(runs.back().end, end_of(entry));
    return;
  }
  const uint64_t num_before =
      runs.empty() ? 0 : runs.back().num_before + (runs.back().end - runs.back().begin);
  runs.push_back({entry.shard, begin_of(entry), end_of(entry), num_before});
}

std::pair<size_t, const ReadRun::Run*> ReadRun::find(const StoredTensor& entry) const {
  const auto known = disk_of_shard_.find(entry.shard);
  if (known == disk_of_shard_.end()) return {0, nullptr};
  const std::vector<Run>& runs = disks_[known->second].runs;
  const auto is_behind = [&](const Run& run) {
    return std::pair(entry.shard, begin_of(entry)) < std::pair(run.shard, run.begin);
  };
  const auto behind = std::ranges::partition_point(runs, std::not_fn(is_behind));
  if (behind == runs.begin()) return {0, nullptr};
  const Run& found = *std::prev(behind);
  if (found.shard != entry.shard || end_of(entry) > found.end) return {0, nullptr};
  return {known->second, &found};
}

uint64_t ReadRun::turn_of(const StoredTensor& entry) const {
  const Run* const run = find(entry).second;
  return run == nullptr ? 0 : (run->num_before + (begin_of(entry) - run->begin)) / kTurnBytes;
}

std::unique_ptr<ReadStream> ReadRun::open(const Disk& disk, size_t run) const {
  if (run >= disk.runs.size()) return nullptr;
  const auto& [shard, begin, end, num_before] = disk.runs[run];
  return data_.stream(shard, begin, end - begin);
}

void ReadRun::begin_run(Disk& disk, size_t run) {
  const bool is_open = disk.next != nullptr && run == disk.current + 1;
  disk.stream = is_open ? std::move(disk.next) : open(disk, run);
  disk.next = open(disk, run + 1);
  disk.current = run;
  disk.position = disk.runs[run].begin;
}

ReadRun::Disk* ReadRun::disk_at(const StoredTensor& entry) {
  const auto [number, found] = find(entry);
  if (found == nullptr) return nullptr;
  Disk& disk = disks_[number];
  const auto run = static_cast<size_t>(found - disk.runs.data());
  if (run > disk.current || !disk.stream) begin_run(disk, run);
  if (run < disk.current || begin_of(entry) < disk.position) return nullptr;
  if (begin_of(entry) > disk.position) disk.stream->skip(begin_of(entry) - disk.position);
  disk.position = end_of(entry);
  return &disk;
}

std::unique_ptr<ReadStream> ReadRun::open_alone(const StoredTensor& entry) const {
  return data_.stream(entry.shard, begin_of(entry), static_cast<uint64_t>(entry.size));
}

}  // namespace crochet::inline v0::internal
