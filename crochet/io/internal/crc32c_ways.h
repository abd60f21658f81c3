// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crochet::inline v0::internal {

// extend_crc32c() of a build without ISA-L. Both ways are in every build, so that tests compare
// them.

// True if the processor has instructions for crc32c that crochet uses: SSE 4.2 of x86-64.
bool cpu_has_crc32c();
// 8 bytes by one instruction. Requires: cpu_has_crc32c().
uint32_t extend_crc32c_by_cpu(uint32_t crc, std::span<const std::byte> data);
// 8 bytes by 8 look-ups, on every processor.
uint32_t extend_crc32c_by_table(uint32_t crc, std::span<const std::byte> data);

}  // namespace crochet::inline v0::internal
