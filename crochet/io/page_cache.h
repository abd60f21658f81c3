// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crochet {

// The part of the pages of a range of an open file, 0 to 1, that are in memory, by a sample;
// 0 if that cannot be said. It reads nothing in. Requires: the file goes so far.
double part_in_page_cache(int file, uint64_t offset, uint64_t num_bytes);

}  // namespace crochet
