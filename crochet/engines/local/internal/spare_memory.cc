// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/spare_memory.h"

#include <algorithm>
#include <exception>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/internal/page.h"
#include "crochet/base/log.h"

namespace crochet::inline v0::local::internal {
namespace {

// Kept per variable: one for the save that is being written and one for the save that waits.
constexpr size_t kMaxSpare = 2;

// The least total size that is worth touching ahead of time.
constexpr size_t kMadeAheadFrom = size_t{4} << 20;

// How many buffers are tested for being free, as there may be hundreds of thousands: this many
// tests take less time than touching fresh memory.
size_t max_asked(size_t num_bytes) { return 8 + num_bytes / crochet::internal::kPageBytes; }

}  // namespace

SpareMemory::~SpareMemory() { stop_.request_stop(); }

void SpareMemory::expect(size_t num_bytes) {
  const std::lock_guard lock(state_->mutex);
  ++state_->by_size[num_bytes].num_variables;
}

Tensor SpareMemory::take(DType dtype, const Shape& shape) {
  const size_t num_bytes = Tensor::num_bytes(dtype, shape);
  bool lacking = false;
  {
    const std::lock_guard lock(state_->mutex);
    OfOneSize& same = state_->by_size[num_bytes];
    for (size_t asked = std::min(max_asked(num_bytes), same.buffers.size()); asked > 0; --asked) {
      Buffer buffer = std::move(same.buffers.front());
      same.buffers.pop_front();
      if (buffer.is_unique()) return Tensor::from_buffer(dtype, shape, std::move(buffer));
      same.buffers.push_back(std::move(buffer));  // It may be held for long.
    }
    ++same.num_made;
    lacking = is_lacking(num_bytes, same);
  }
  if (lacking) make_all_in_background();
  return Tensor(dtype, shape);
}

void SpareMemory::give(Tensor former) {
  if (!former.buffer()) return;
  Buffer surplus;  // Freed without the mutex.
  const std::lock_guard lock(state_->mutex);
  OfOneSize& same = state_->by_size[former.buffer().size()];
  same.buffers.push_back(former.buffer());
  if (same.buffers.size() <= kMaxSpare * same.num_variables) return;
  surplus = std::move(same.buffers.front());
  same.buffers.pop_front();
}

void SpareMemory::make_all_in_background() {
  if (maker_.joinable()) return;
  try {
    maker_ = crochet::internal::Thread(
        "making memory ahead", [this] { make_all(); },
        crochet::internal::Thread::Priority::kBackground);
  } catch (const ResourceExhaustedError& error) {
    log_debug(error.what());
  }
}

bool SpareMemory::is_lacking(size_t num_bytes, const OfOneSize& same) {
  return num_bytes * same.num_variables >= kMadeAheadFrom && same.num_made < same.num_variables;
}

size_t SpareMemory::lacking_size() {
  const std::lock_guard lock(state_->mutex);
  const auto found = std::ranges::find_if(
      state_->by_size, [](const auto& entry) { return is_lacking(entry.first, entry.second); });
  return found == state_->by_size.end() ? 0 : found->first;
}

void SpareMemory::make_all() noexcept {
  try {
    for (size_t size = lacking_size(); size > 0 && !stop_.stop_requested(); size = lacking_size()) {
      {
        const std::lock_guard lock(state_->mutex);
        ++state_->by_size[size].num_made;
      }
      Buffer buffer(size);
      for (size_t i = 0; i < size; i += crochet::internal::kPageBytes)
        buffer.writable_data()[i] = std::byte{};
      const std::lock_guard lock(state_->mutex);
      state_->by_size[size].buffers.push_front(std::move(buffer));
    }
  } catch (const std::exception& error) {
    crochet::internal::log_lazily(Severity::kDebug, [&] {
      return fmt::format("no memory is allocated ahead: {}", error.what());
    });
  }
}

}  // namespace crochet::inline v0::local::internal
