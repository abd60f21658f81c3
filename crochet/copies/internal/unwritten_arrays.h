// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace crochet::inline v0::internal {

// The arrays to which nothing was written since a snapshot, by the announcements of a barrier.
//
// Not thread-safe.
class UnwrittenArrays {
 public:
  // A snapshot begins. Forgets the arrays that the one before did not have.
  void begin_snapshot();
  // The version of the elements of an array of the snapshot: that of the snapshot before if nothing
  // was written to it since, otherwise another number, which nothing else has. `identity`: see
  // BorrowedArray; not null.
  uint64_t version_of(const std::byte* begin, const std::byte* end,
                      std::shared_ptr<const void> identity);
  // Something is about to write to these bytes.
  void record_write(const std::byte* begin, const std::byte* end);
  void clear();

  bool empty() const { return arrays_.empty(); }
  // True if at least a quarter of the bytes of the snapshots is not written.
  bool are_many() const { return !empty() && num_bytes_ >= most_bytes_ / 4; }

 private:
  struct Array {
    uintptr_t end = 0;
    std::shared_ptr<const void> identity;
    uint64_t version = 0;
    uint64_t snapshot = 0;  // The last one that had it.
  };
  using Arrays = std::map<uintptr_t, Array>;  // By their begin; they do not overlap.

  Arrays::iterator erase(Arrays::iterator array);

  Arrays arrays_;
  uint64_t snapshot_ = 0;  // The number of the present one.
  size_t num_bytes_ = 0;   // Of arrays_.
  size_t most_bytes_ = 0;  // The maximum since there were none.
};

}  // namespace crochet::inline v0::internal
