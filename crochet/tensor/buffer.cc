// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cassert>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/page.h"
#include "crochet/base/internal/scheduling_point.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {
namespace {

// x86-64 and most of AArch64 have huge pages of this size.
constexpr size_t kHugePageBytes = size_t{1} << 21;
// Smaller memory would contain too few whole huge pages.
constexpr size_t kHugePagesFrom = 2 * kHugePageBytes;

constexpr std::align_val_t kHeaderAlignment{kBufferAlignment};

// Large memory is an allocation of its own, apart from the header: to write the header next to it
// would make the kernel clear a huge page, on the thread that allocates.
bool is_apart(size_t num_bytes) { return num_bytes >= kPageAlignedBytes; }

// To the end of a page, so that what the allocator writes after the memory is in another one.
size_t whole_pages(size_t num_bytes) {
  return (num_bytes + internal::kPageBytes - 1) / internal::kPageBytes * internal::kPageBytes;
}

std::align_val_t alignment_apart(size_t num_bytes) {
  return std::align_val_t(num_bytes < kHugePagesFrom ? internal::kPageBytes : kHugePageBytes);
}

void ask_for_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t num_bytes) {
#ifdef MADV_HUGEPAGE
  const size_t whole_pages = num_bytes / kHugePageBytes * kHugePageBytes;
  // Refused where there are no huge pages: then access is slower, but correct.
  if (whole_pages >= kHugePagesFrom) madvise(memory, whole_pages, MADV_HUGEPAGE);
#endif
}

// Touches no page of the memory. Null if there is not enough.
std::byte* allocate_apart(size_t num_bytes) {
  void* const memory =
      ::operator new(whole_pages(num_bytes), alignment_apart(num_bytes), std::nothrow);
  if (memory != nullptr) ask_for_huge_pages(memory, num_bytes);
  return static_cast<std::byte*>(memory);
}
void free_apart(std::byte* memory, size_t num_bytes) noexcept {
  ::operator delete(memory, alignment_apart(num_bytes));
}

std::atomic<size_t> bytes_in_use = 0;
std::atomic<size_t> peak_bytes_in_use = 0;

// A buffer has this many versions before it needs new ones.
constexpr uint64_t kVersionsOfOne = uint64_t{1} << 16;
std::atomic<uint64_t> next_versions = kVersionsOfOne;

// The first of kVersionsOfOne numbers that nothing else has.
uint64_t new_versions() {
  return next_versions.fetch_add(kVersionsOfOne, std::memory_order_relaxed);
}

// Of exposed memory.
constexpr uint64_t kNoVersion = 0;

uint64_t version_after(uint64_t version) {
  if (version == kNoVersion) return kNoVersion;
  return (version + 1) % kVersionsOfOne == 0 ? new_versions() : version + 1;
}

void count_allocation(size_t num_bytes) {
  const size_t now = bytes_in_use.fetch_add(num_bytes, std::memory_order_relaxed) + num_bytes;
  size_t peak = peak_bytes_in_use.load(std::memory_order_relaxed);
  while (now > peak &&
         !peak_bytes_in_use.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

BufferUsage buffer_usage() {
  return {.num_bytes = bytes_in_use.load(std::memory_order_relaxed),
          .peak_num_bytes = peak_bytes_in_use.load(std::memory_order_relaxed)};
}

void reset_peak_buffer_usage() {
  peak_bytes_in_use.store(bytes_in_use.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// The header of a buffer. The bytes follow it, unless they are apart or borrowed.
struct alignas(kBufferAlignment) Buffer::Block {
  std::atomic<int64_t> references = 1;
  size_t size = 0;
  Destroy destroy = nullptr;
  std::byte* own_bytes = nullptr;
  const std::byte* borrowed = nullptr;
  Release release = nullptr;  // Set if and only if the bytes are borrowed.
  void* context = nullptr;
  std::atomic<uint64_t> version = new_versions();

  // With `num_bytes` bytes of its own. Throws: ResourceExhaustedError.
  static Block* make(size_t num_bytes);

  bool is_borrowed() const { return release != nullptr; }

  void let_go() noexcept {
    if (is_borrowed()) release(context);
    if (destroy != nullptr) destroy(own_bytes, size);
    const size_t own_size = is_borrowed() ? 0 : size;
    if (is_apart(own_size)) free_apart(own_bytes, own_size);
    this->~Block();
    ::operator delete(this, kHeaderAlignment);
    bytes_in_use.fetch_sub(own_size, std::memory_order_relaxed);
  }
};

Buffer::Block* Buffer::Block::make(size_t num_bytes) {
  static_assert(sizeof(Block) == kBufferAlignment);
  constexpr size_t kLargest = std::numeric_limits<ptrdiff_t>::max() - internal::kPageBytes;
  const size_t bytes_after_header = is_apart(num_bytes) ? 0 : num_bytes;
  void* const header = num_bytes > kLargest ? nullptr
                                            : ::operator new(kBufferAlignment + bytes_after_header,
                                                             kHeaderAlignment, std::nothrow);
  std::byte* bytes = nullptr;
  if (header != nullptr)
    bytes = is_apart(num_bytes) ? allocate_apart(num_bytes)
                                : static_cast<std::byte*>(header) + kBufferAlignment;
  if (bytes == nullptr) {
    ::operator delete(header, kHeaderAlignment);
    throw ResourceExhaustedError(fmt::format("cannot allocate a tensor of {} bytes", num_bytes));
  }
  count_allocation(num_bytes);
  auto* const block = new (header) Block;
  block->own_bytes = bytes;
  return block;
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

void Buffer::share() noexcept { block_->references.fetch_add(1, std::memory_order_relaxed); }

void Buffer::release() noexcept {
  internal::scheduling_point();
  if (block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) block_->let_go();
}

size_t Buffer::size() const { return block_ == nullptr ? 0 : block_->size; }

const std::byte* Buffer::data() const {
  if (block_ == nullptr) return nullptr;
  return block_->is_borrowed() ? block_->borrowed : block_->own_bytes;
}

std::byte* Buffer::mutable_data() {
  std::byte* const data = writable_data();
  if (data != nullptr) block_->version.store(kNoVersion, std::memory_order_relaxed);
  return data;
}

std::byte* Buffer::writable_data() {
  if (block_ == nullptr) return nullptr;
  assert(!block_->is_borrowed());
  // There is no other writer, so the change need not be atomic.
  block_->version.store(version_after(block_->version.load(std::memory_order_relaxed)),
                        std::memory_order_relaxed);
  return block_->own_bytes;
}

uint64_t Buffer::version() const noexcept {
  if (block_ == nullptr || block_->is_borrowed()) return kNoVersion;
  return block_->version.load(std::memory_order_relaxed);
}

bool Buffer::is_exposed() const noexcept {
  return block_ != nullptr && !block_->is_borrowed() && version() == kNoVersion;
}

bool Buffer::is_unique() const noexcept {
  const bool is_unique = block_ != nullptr && !block_->is_borrowed() &&
                         block_->references.load(std::memory_order_acquire) == 1;
  internal::scheduling_point();  // Other holders may release the buffer here.
  return is_unique;
}

}  // namespace crochet::inline v0
