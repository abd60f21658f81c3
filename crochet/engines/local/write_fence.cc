// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/write_fence.h"

#include "crochet/engines/local/borrowed_array.h"
#include "crochet/engines/local/fence_state.h"

namespace crochet::inline v0::local {

WriteFence::WriteFence()
    : state_(std::make_shared<PerProcess<FenceState>>(
          [this] { return std::make_unique<FenceState>(*this); })) {}

WriteFence::~WriteFence() = default;

void WriteFence::before_write(const void* begin, const void* end) noexcept {
  (*state_)->before_write(static_cast<const std::byte*>(begin), static_cast<const std::byte*>(end));
}

bool WriteFence::has_pending() const noexcept { return (*state_)->has_pending(); }

void WriteFence::copy(const ArrayView& array, std::byte* to, size_t begin, size_t end) {
  copy_out(array, to, begin, end);
}

}  // namespace crochet::inline v0::local
