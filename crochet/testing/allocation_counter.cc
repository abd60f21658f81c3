// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/allocation_counter.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

constinit thread_local int64_t num_allocations = 0;
constinit thread_local uint64_t largest_allocation = 0;

// Of FailingAllocations: the numbers of the calls that fail, and the calls so far.
constinit std::atomic<bool> is_failing = false;
constinit std::atomic<int64_t> first_failing = 0;
constinit std::atomic<int64_t> end_failing = 0;
constinit std::atomic<int64_t> num_counted = 0;
constinit thread_local bool is_spared = false;

bool fails_now() noexcept {
  if (!is_failing || is_spared) return false;
  const int64_t number = num_counted.fetch_add(1);
  return number >= first_failing && number < end_failing;
}

void* count_and_allocate(size_t size, size_t alignment) noexcept {
  if (fails_now()) return nullptr;
  ++num_allocations;
  largest_allocation = std::max<uint64_t>(largest_allocation, size);
  size = std::max<size_t>(size, 1);
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  return rounded < size ? nullptr : std::aligned_alloc(alignment, rounded);
}

void* count_and_allocate_or_throw(size_t size, size_t alignment) {
  void* const memory = count_and_allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

constexpr size_t kNoAlignment = 1;

}  // namespace

// Arrays, too: a sanitizer's operator new[] does not call operator new.
void* operator new(size_t size) { return count_and_allocate_or_throw(size, kNoAlignment); }
void* operator new[](size_t size) { return count_and_allocate_or_throw(size, kNoAlignment); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return count_and_allocate(size, kNoAlignment);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return count_and_allocate(size, kNoAlignment);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return count_and_allocate_or_throw(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return count_and_allocate_or_throw(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return count_and_allocate(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return count_and_allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace crochet::inline v0 {

FailingAllocations::FailingAllocations(int64_t first, int64_t length) {
  is_spared = true;
  num_counted = 0;
  first_failing = first;
  end_failing = first + length;
  is_failing = true;
}

FailingAllocations::~FailingAllocations() {
  is_failing = false;
  is_spared = false;
}

int64_t FailingAllocations::count() const { return num_counted; }

AllocationCounter::AllocationCounter()
    : at_start_(num_allocations), largest_before_(std::exchange(largest_allocation, 0)) {}

AllocationCounter::~AllocationCounter() {
  largest_allocation = std::max(largest_allocation, largest_before_);
}

int64_t AllocationCounter::count() const { return num_allocations - at_start_; }

uint64_t AllocationCounter::largest() const { return largest_allocation; }

}  // namespace crochet::inline v0
