// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/write_barrier.h"

#include "crochet/copies/barrier_state.h"
#include "crochet/copies/borrowed_array.h"

namespace crochet::inline v0::copies {

WriteBarrier::WriteBarrier() : state_([this] { return std::make_unique<BarrierState>(*this); }) {}

WriteBarrier::~WriteBarrier() = default;

BarrierState& WriteBarrier::state() const { return static_cast<BarrierState&>(*state_); }

void WriteBarrier::before_write(const void* begin, const void* end) noexcept {
  state().before_write(static_cast<const std::byte*>(begin), static_cast<const std::byte*>(end));
}

bool WriteBarrier::has_pending() const noexcept { return state().has_pending(); }

void WriteBarrier::copy(const ArrayView& array, std::byte* to, size_t begin, size_t end) {
  copy_out(array, to, begin, end);
}

}  // namespace crochet::inline v0::copies
