// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// ReadableFile::read_at() by several threads, the calling one included, if there are megabytes to
// read: what is in the page cache comes as fast as it is copied, and one core copies slower than
// the memory is. The threads end before this returns. Throws: the error of the first part that
// cannot be read.
void read_in_parallel(const ReadableFile& file, uint64_t offset, std::span<std::byte> destination);
// Returns `crc` extended by the bytes, as extend_crc32c() does.
uint32_t read_in_parallel_with_crc32c(const ReadableFile& file, uint64_t offset, uint32_t crc,
                                      std::span<std::byte> destination);

}  // namespace crochet::inline v0::internal
