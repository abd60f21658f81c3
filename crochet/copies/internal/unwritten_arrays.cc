// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/unwritten_arrays.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace crochet::inline v0::internal {
namespace {

uintptr_t address(const std::byte* byte) { return reinterpret_cast<uintptr_t>(byte); }

// Beyond the versions of buffers, which begin with 1.
uint64_t new_version() {
  static std::atomic<uint64_t> next = uint64_t{1} << 63;
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void UnwrittenArrays::begin_snapshot() {
  for (auto array = arrays_.begin(); array != arrays_.end();)
    array = array->second.snapshot < snapshot_ ? erase(array) : std::next(array);
  ++snapshot_;
}

uint64_t UnwrittenArrays::version_of(const std::byte* begin, const std::byte* end,
                                     std::shared_ptr<const void> identity) {
  const auto found = arrays_.find(address(begin));
  const bool is_known = found != arrays_.end() && found->second.end == address(end) &&
                        found->second.identity.get() == identity.get();
  if (is_known) {
    found->second.snapshot = snapshot_;
    return found->second.version;
  }
  record_write(begin, end);
  const uint64_t version = new_version();
  arrays_.emplace(address(begin), Array{.end = address(end),
                                        .identity = std::move(identity),
                                        .version = version,
                                        .snapshot = snapshot_});
  num_bytes_ += static_cast<size_t>(end - begin);
  most_bytes_ = std::max(most_bytes_, num_bytes_);
  return version;
}

void UnwrittenArrays::record_write(const std::byte* begin, const std::byte* end) {
  auto next = arrays_.upper_bound(address(begin));
  if (next != arrays_.begin() && std::prev(next)->second.end > address(begin)) --next;
  while (next != arrays_.end() && next->first < address(end)) next = erase(next);
}

UnwrittenArrays::Arrays::iterator UnwrittenArrays::erase(Arrays::iterator array) {
  num_bytes_ -= array->second.end - array->first;
  const auto next = arrays_.erase(array);
  if (arrays_.empty()) most_bytes_ = 0;
  return next;
}

void UnwrittenArrays::clear() {
  arrays_.clear();
  num_bytes_ = most_bytes_ = 0;
}

}  // namespace crochet::inline v0::internal
