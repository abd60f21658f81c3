// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/variable_memory.h"

#include <algorithm>
#include <utility>

#include "crochet/engines/local/internal/spare_memory.h"

namespace crochet::inline v0::local::internal {

VariableMemory::VariableMemory(const Tensor& initial, SpareMemory& spare)
    : spare_(spare), value_(initial) {
  if (value_.dtype() == DType::kString) {
    make_unique();
  } else if (value_.is_set()) {
    spare_.expect(value_.num_bytes());
    value_ = Tensor(initial.dtype(), initial.shape());
    std::ranges::copy(initial.bytes(), value_.writable_bytes().begin());
  }
}

void VariableMemory::make_unique() {
  if (value_.dtype() == DType::kString) {
    value_.mutable_strings();
  } else if (prepare_copy()) {
    std::ranges::copy(value_.bytes(), next_.writable_bytes().begin());
    commit_copy();
  }
}

void VariableMemory::prepare_next() {
  if (!next_.is_set()) {
    next_ = Tensor(value_.dtype(), value_.shape());  // Never shared.
  } else if (!can_use_next()) {
    take_next();
  }
}

bool VariableMemory::prepare_copy() {
  if (!value_.is_shared()) return false;
  if (!can_use_next()) take_next();
  return true;
}

void VariableMemory::take_next() {
  Tensor prepared = spare_.take(value_.dtype(), value_.shape());
  if (next_.is_set()) spare_.give(std::move(next_));
  next_ = std::move(prepared);
}

void VariableMemory::commit_copy() {
  commit_next();
  // A variable that changes in place needs no memory for its next value.
  spare_.give(std::exchange(next_, Tensor()));
}

}  // namespace crochet::inline v0::local::internal
