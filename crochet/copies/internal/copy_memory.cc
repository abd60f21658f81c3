// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/copy_memory.h"

#include <algorithm>
#include <cassert>

namespace crochet::inline v0::internal {
namespace {

// One for the save that is being written and one for the save that waits for it.
constexpr size_t kMaxKept = 2;

}  // namespace

CopyMemory::Lent CopyMemory::lend(DType dtype, const Shape& shape) {
  const size_t num_bytes = Tensor::num_bytes(dtype, shape);
  assert(num_bytes > Tensor::kInlineBytes);
  // Memory of an earlier size is useless now, whether a snapshot still holds it or not.
  std::erase_if(kept_, [=](const Buffer& kept) { return kept.size() != num_bytes; });
  auto free = std::ranges::find_if(kept_, &Buffer::is_unique);
  if (free == kept_.end()) {
    Buffer fresh(num_bytes);
    if (kept_.size() == kMaxKept) kept_.erase(kept_.begin());
    kept_.push_back(std::move(fresh));
    free = kept_.end() - 1;
  }
  std::byte* const data = free->writable_data();  // Before it is shared.
  return {.tensor = Tensor::from_buffer(dtype, shape, *free), .data = data};
}

}  // namespace crochet::inline v0::internal
