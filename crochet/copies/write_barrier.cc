// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/borrowed_array.h"
#include "crochet/copies/internal/barrier_state.h"

namespace crochet::inline v0 {

WriteBarrier::WriteBarrier()
    : state_([this] { return std::make_unique<internal::BarrierState>(*this); }) {}

WriteBarrier::~WriteBarrier() = default;

internal::BarrierState& WriteBarrier::state() const {
  return static_cast<internal::BarrierState&>(*state_);
}

void WriteBarrier::before_write(const void* begin, const void* end) noexcept {
  state().before_write(static_cast<const std::byte*>(begin), static_cast<const std::byte*>(end));
}

bool WriteBarrier::has_pending() const noexcept { return state().has_pending(); }

void WriteBarrier::copy(const ArrayView& array, std::byte* to, size_t begin, size_t end) {
  copy_out(array, to, begin, end);
}

}  // namespace crochet::inline v0
