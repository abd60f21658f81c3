// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "crochet/base/export.h"

namespace crochet::inline v0 {

// All memory that tensors allocate starts at a multiple of this: vectorised sums depend on
// alignment, and a resumed run must be bit-exact.
inline constexpr size_t kBufferAlignment = 64;

// Memory of at least this size is aligned to a page of 4096 bytes: disks read and write it without
// a copy.
inline constexpr size_t kPageAlignedBytes = size_t{1} << 20;

// Shared memory of fixed size, for bytes or for objects that are destroyed with it. The reference
// count is intrusive because is_unique() must happen after everything that former holders did with
// the bytes, which std::shared_ptr::use_count does not guarantee.
//
// Large memory uses huge pages where the system has them: its first use, with page faults, is then
// several times as fast. Allocating memory of kPageAlignedBytes and more touches none of its pages,
// so this first use is on the thread that fills it.
//
// A buffer can also refer to borrowed memory, which belongs to another owner and is only read: such
// a buffer is never unique, so a writer makes a copy first.
class CROCHET_EXPORT Buffer {
 public:
  Buffer() = default;
  // Uninitialised memory. Throws: ResourceExhaustedError with the size if there is not enough.
  // `destroy`, unless null, is called with the memory and its size before it is freed.
  using Destroy = void (*)(std::byte* data, size_t size) noexcept;
  explicit Buffer(size_t num_bytes, Destroy destroy = nullptr);
  // Borrowed memory. `release` is called with `context`, on the thread of the last holder, when
  // that releases it. Throws: ResourceExhaustedError, without calling `release`.
  using Release = void (*)(void* context) noexcept;
  static Buffer borrow(std::span<const std::byte> bytes, Release release, void* context);
  Buffer(const Buffer& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) share();
  }
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer() {
    if (block_ != nullptr) release();
  }

  explicit operator bool() const { return block_ != nullptr; }
  size_t size() const;
  const std::byte* data() const;
  // The address for writing, which the caller may keep: from now on the memory is exposed, and has
  // no version. Requires: the memory is not borrowed, and no other holder reads or writes
  // meanwhile.
  std::byte* mutable_data();
  // The same for a writer that forgets the address once it has written, such as an engine or a
  // reader of files: the memory gets another version. Requires: as mutable_data().
  std::byte* writable_data();
  // True if the address was handed out for writing, so that something may write to the memory at
  // any time.
  bool is_exposed() const noexcept;
  // True if this Buffer owns its memory and is its only holder. Accesses by former holders
  // happened before.
  bool is_unique() const noexcept;
  // Another number after each writable_data(), which no other buffer of this process ever has: the
  // same number means the same bytes. 0 if something unknown may write to them: for exposed and for
  // borrowed memory; and for an unset buffer.
  uint64_t version() const noexcept;

 private:
  struct Block;
  explicit Buffer(Block* block) : block_(block) {}
  // Add and remove a holder. Require: set.
  void share() noexcept;
  void release() noexcept;

  Block* block_ = nullptr;
};

// The memory owned by all buffers of this process. Thread-safe.
struct BufferUsage {
  size_t num_bytes = 0;       // Current.
  size_t peak_num_bytes = 0;  // Maximum since the last reset_peak_buffer_usage().
};
CROCHET_EXPORT BufferUsage buffer_usage();
CROCHET_EXPORT void reset_peak_buffer_usage();

}  // namespace crochet::inline v0
