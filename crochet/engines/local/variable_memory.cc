// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/variable_memory.h"

#include <algorithm>

namespace crochet::local {
namespace {

// One for a save that is being written and one for the save that waits behind it.
constexpr size_t kMaxSpare = 2;

}  // namespace

VariableMemory::VariableMemory(const Tensor& initial) : value_(initial) {
  make_unique();
  next_ = Tensor();  // The initial value, which others keep holding.
}

void VariableMemory::make_unique() {
  if (value_.dtype() == DType::kString) {
    value_.mutable_strings();
  } else if (needs_copy()) {
    prepare_next();
    std::ranges::copy(value_.bytes(), next_.mutable_bytes().begin());
    commit_next();
  }
}

void VariableMemory::prepare_next() {
  if (next_.is_set() && !next_.is_shared()) return;
  const auto free = std::ranges::find_if(spare_, [](const Tensor& t) { return !t.is_shared(); });
  if (free != spare_.end()) return std::swap(next_, *free);
  Tensor fresh(value_.dtype(), value_.shape());
  if (next_.is_set()) {
    if (spare_.size() == kMaxSpare) spare_.erase(spare_.begin());
    spare_.push_back(std::move(next_));
  }
  next_ = std::move(fresh);
}

}  // namespace crochet::local
