// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crc32c without ISA-L; crc32c_isal.cc takes its place in a build with it.
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/crc32c_ways.h"

namespace crochet::inline v0 {

uint32_t internal::extend_crc32c(uint32_t crc, std::span<const std::byte> data) {
  static const bool by_cpu = internal::cpu_has_crc32c();
  return by_cpu ? internal::extend_crc32c_by_cpu(crc, data)
                : internal::extend_crc32c_by_table(crc, data);
}

}  // namespace crochet::inline v0
