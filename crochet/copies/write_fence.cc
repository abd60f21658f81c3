// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/write_fence.h"

#include "crochet/copies/borrowed_array.h"
#include "crochet/copies/fence_state.h"

namespace crochet::inline v0::copies {

WriteFence::WriteFence() : state_([this] { return std::make_unique<FenceState>(*this); }) {}

WriteFence::~WriteFence() = default;

FenceState& WriteFence::state() const { return static_cast<FenceState&>(*state_); }

void WriteFence::before_write(const void* begin, const void* end) noexcept {
  state().before_write(static_cast<const std::byte*>(begin), static_cast<const std::byte*>(end));
}

bool WriteFence::has_pending() const noexcept { return state().has_pending(); }

void WriteFence::copy(const ArrayView& array, std::byte* to, size_t begin, size_t end) {
  copy_out(array, to, begin, end);
}

}  // namespace crochet::inline v0::copies
