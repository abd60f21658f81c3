// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/buffer.h"

#include <cassert>
#include <limits>
#include <new>

#include "crochet/base/error.h"

namespace crochet {

// The header of an allocation; the bytes follow it, aligned since it fills one unit, unless
// they are borrowed.
struct alignas(kBufferAlignment) Buffer::Block {
  std::atomic<int64_t> references = 1;
  size_t size = 0;
  Destroy destroy = nullptr;
  const std::byte* borrowed = nullptr;
  Release release = nullptr;  // Set if and only if the bytes are borrowed.
  void* context = nullptr;

  // With room for so many bytes behind it.
  static Block* make(size_t num_bytes);

  std::byte* own_bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  bool is_borrowed() const { return release != nullptr; }

  void let_go() noexcept {
    if (is_borrowed()) release(context);
    if (destroy != nullptr) destroy(own_bytes(), size);
    this->~Block();
    ::operator delete(this, std::align_val_t(kBufferAlignment));
  }
};

Buffer::Block* Buffer::Block::make(size_t num_bytes) {
  static_assert(sizeof(Block) == kBufferAlignment);
  constexpr size_t kLargest = std::numeric_limits<ptrdiff_t>::max() - sizeof(Block);
  void* const memory = num_bytes > kLargest
                           ? nullptr
                           : ::operator new(sizeof(Block) + num_bytes,
                                            std::align_val_t(kBufferAlignment), std::nothrow);
  if (memory == nullptr)
    throw ResourceExhaustedError("no memory for a tensor of {} bytes", num_bytes);
  return new (memory) Block;
}

Buffer::Buffer(size_t num_bytes, Destroy destroy) : block_(Block::make(num_bytes)) {
  block_->size = num_bytes;
  block_->destroy = destroy;
}

Buffer Buffer::borrow(std::span<const std::byte> bytes, Release release, void* context) {
  assert(release != nullptr);
  Buffer buffer(Block::make(0));
  buffer.block_->size = bytes.size();
  buffer.block_->borrowed = bytes.data();
  buffer.block_->release = release;
  buffer.block_->context = context;
  return buffer;
}

Buffer::Buffer(const Buffer& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
}

Buffer::~Buffer() {
  if (block_ != nullptr && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    block_->let_go();
}

size_t Buffer::size() const { return block_ == nullptr ? 0 : block_->size; }

const std::byte* Buffer::data() const {
  if (block_ == nullptr) return nullptr;
  return block_->is_borrowed() ? block_->borrowed : block_->own_bytes();
}

std::byte* Buffer::mutable_data() {
  if (block_ == nullptr) return nullptr;
  assert(!block_->is_borrowed());
  return block_->own_bytes();
}

bool Buffer::is_unique() const noexcept {
  return block_ != nullptr && !block_->is_borrowed() &&
         block_->references.load(std::memory_order_acquire) == 1;
}

}  // namespace crochet
