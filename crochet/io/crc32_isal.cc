// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crc32 by ISA-L; crc32_own.cc takes its place in a build without it.
#include <isa-l/crc.h>

#include "crochet/io/internal/after_isal.h"
#include "crochet/io/internal/crc32.h"

namespace crochet::inline v0::internal {

uint32_t extend_crc32(uint32_t crc, std::span<const std::byte> data) {
  const uint32_t extended =
      ::crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(data.data()), data.size());
  after_isal();
  return extended;
}

}  // namespace crochet::inline v0::internal
