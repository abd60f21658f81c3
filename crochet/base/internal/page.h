// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace crochet::inline v0::internal {

// A page of memory on x86-64 and most of AArch64, and an alignment of memory that every disk
// accepts, whatever its block size.
inline constexpr size_t kPageBytes = 4096;

}  // namespace crochet::inline v0::internal
