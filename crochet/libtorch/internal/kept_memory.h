// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <c10/core/Storage.h>

namespace crochet::inline v0::libtorch::internal {

// Shares the ownership of a storage's memory, whatever becomes of the storage: a program may give
// it other memory (set_data_ptr(), or a resize that no operator announces), which frees the former.
// Copies share one object, whose address no other memory has as long as a weak pointer to it
// exists.
//
// Null for memory that cannot be kept: unless LibTorch's allocator for the CPU made it, as for
// tensors of from_blob(), pinned memory, and memory that processes share.
//
// The storage keeps its address and its elements. Not thread-safe for one storage: called between
// the steps.
std::shared_ptr<const void> kept_memory(const c10::Storage& storage);

}  // namespace crochet::inline v0::libtorch::internal
