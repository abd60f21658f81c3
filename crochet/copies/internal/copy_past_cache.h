// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace crochet::inline v0::internal {

// Copies as memcpy does. Large pieces bypass the cache if the processor can do that: their
// target is not read first, which saves a third of the memory traffic, and the program's working
// set stays in the cache. memcpy itself does so only above a size that depends on the machine's
// caches, up to hundreds of megabytes.
void copy_past_cache(std::byte* to, const std::byte* from, size_t num_bytes);

}  // namespace crochet::inline v0::internal
