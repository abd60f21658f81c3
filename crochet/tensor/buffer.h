// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace crochet {

// All memory that tensors allocate starts at a multiple of this: vectorised sums depend on
// alignment, and a resumed run must be bit-exact.
inline constexpr size_t kBufferAlignment = 64;

// Memory of so many bytes and more starts at a page of 4096: disks read and write it where it lies.
inline constexpr size_t kPageAlignedBytes = size_t{1} << 20;

// Shared memory of fixed size, of bytes or of objects that end with it. Counting is intrusive
// because is_unique() must happen after everything that former holders did with the bytes, which
// std::shared_ptr::use_count does not promise.
//
// Large memory lies in huge pages where the system has them: its first use, by page faults, then
// costs a few times less.
//
// It can also stand for borrowed memory, which is somebody else's, lies where they put it, and is
// only ever read: such a buffer is never unique, so whoever wants to write makes a copy first.
class Buffer {
 public:
  Buffer() = default;
  // Uninitialised memory. Throws: ResourceExhaustedError with the size if there is none.
  // `destroy`, if there is one, is called with the memory and its size before it is let go.
  using Destroy = void (*)(std::byte* data, size_t size) noexcept;
  explicit Buffer(size_t num_bytes, Destroy destroy = nullptr);
  // Borrowed memory. `release` is called with `context` once nobody holds it any more, on
  // whatever thread that is. Throws: ResourceExhaustedError, and then does not release.
  using Release = void (*)(void* context) noexcept;
  static Buffer borrow(std::span<const std::byte> bytes, Release release, void* context);
  Buffer(const Buffer& other) noexcept;
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer();

  explicit operator bool() const { return block_ != nullptr; }
  size_t size() const;
  const std::byte* data() const;
  // Requires: the memory is not borrowed, and no other holder reads or writes meanwhile.
  std::byte* mutable_data();
  // True if this Buffer owns its memory and no other holds it. What former holders did
  // happened before.
  bool is_unique() const noexcept;
  // Grows with each mutable_data(): who finds the same number twice knows that nobody asked for
  // the memory to write to it in between. 0 for none, and for borrowed memory.
  uint64_t version() const noexcept;

 private:
  struct Block;
  explicit Buffer(Block* block) : block_(block) {}

  Block* block_ = nullptr;
};

// What the memory takes that the buffers of this process own. Thread-safe.
struct BufferUsage {
  size_t num_bytes = 0;       // Now.
  size_t peak_num_bytes = 0;  // At most, since the last reset_peak_buffer_usage().
};
BufferUsage buffer_usage();
void reset_peak_buffer_usage();

}  // namespace crochet
