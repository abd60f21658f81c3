// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crochet::inline v0::internal {

// The fraction, 0 to 1, of the pages in a range of an open file that are in memory, estimated
// from a sample; 0 if unknown. Reads nothing in. Requires: the file contains the range.
double part_in_page_cache(int file, uint64_t offset, uint64_t num_bytes);

}  // namespace crochet::inline v0::internal
