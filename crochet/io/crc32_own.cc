// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crc32 without ISA-L; crc32_isal.cc takes its place in a build with it.
#include "crochet/io/internal/crc32.h"
#include "crochet/io/internal/crc_tables.h"

namespace crochet::inline v0::internal {

uint32_t extend_crc32(uint32_t crc, std::span<const std::byte> data) {
  static constexpr CrcTables kTables = make_crc_tables(0xedb88320u);
  return extend_crc_by_tables(kTables, crc, data);
}

}  // namespace crochet::inline v0::internal
