// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/buffer.h"

#include <limits>
#include <new>

#include "crochet/base/error.h"

namespace crochet {

// The header of an allocation; the bytes follow it, aligned since it fills one unit.
struct alignas(kBufferAlignment) Buffer::Block {
  std::atomic<int64_t> references = 1;
  size_t size;
  Destroy destroy;

  Block(size_t num_bytes, Destroy destroy_in) : size(num_bytes), destroy(destroy_in) {}
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
};

Buffer::Buffer(size_t num_bytes, Destroy destroy) {
  static_assert(sizeof(Block) == kBufferAlignment);
  constexpr size_t kLargest = std::numeric_limits<ptrdiff_t>::max() - sizeof(Block);
  void* const memory = num_bytes > kLargest
                           ? nullptr
                           : ::operator new(sizeof(Block) + num_bytes,
                                            std::align_val_t(kBufferAlignment), std::nothrow);
  if (memory == nullptr)
    throw ResourceExhaustedError("no memory for a tensor of {} bytes", num_bytes);
  block_ = new (memory) Block(num_bytes, destroy);
}

Buffer::Buffer(const Buffer& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
}

Buffer::~Buffer() {
  if (block_ == nullptr || block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (block_->destroy != nullptr) block_->destroy(block_->bytes(), block_->size);
  block_->~Block();
  ::operator delete(block_, std::align_val_t(kBufferAlignment));
}

size_t Buffer::size() const { return block_ == nullptr ? 0 : block_->size; }
const std::byte* Buffer::data() const { return block_ == nullptr ? nullptr : block_->bytes(); }
std::byte* Buffer::mutable_data() { return block_ == nullptr ? nullptr : block_->bytes(); }

bool Buffer::is_unique() const noexcept {
  return block_ != nullptr && block_->references.load(std::memory_order_acquire) == 1;
}

}  // namespace crochet
