// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/copy_memory.h"

#include <algorithm>
#include <cassert>

namespace crochet::local {
namespace {

// One for a save that is being written and one for the save that waits behind it.
constexpr size_t kMaxKept = 2;

}  // namespace

CopyMemory::Lent CopyMemory::lend(DType dtype, const Shape& shape) {
  assert(Tensor::num_bytes(dtype, shape) > Tensor::kInlineBytes);
  // An array that was resized has no use for memory of its former size.
  std::erase_if(kept_, [&](const Tensor& t) {
    return !t.is_shared() && (t.dtype() != dtype || t.shape() != shape);
  });
  auto free = std::ranges::find_if(kept_, [](const Tensor& t) { return !t.is_shared(); });
  if (free == kept_.end()) {
    Tensor fresh(dtype, shape);
    if (kept_.size() == kMaxKept) kept_.erase(kept_.begin());
    kept_.push_back(std::move(fresh));
    free = kept_.end() - 1;
  }
  std::byte* const data = free->mutable_bytes().data();  // While it is not shared.
  return {.tensor = *free, .data = data};
}

}  // namespace crochet::local
