// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "crochet/cloud/internal/http_client.h"

namespace crochet::inline v0::cloud::internal {

// What a store compares the bytes with that arrive.
struct BodyChecksums {
  std::string sha256;  // 64 hexadecimal digits.
  uint32_t crc32c = 0;

  // The 4 bytes, the highest first, in base64.
  std::string crc32c_text() const;
};

// Reads the body once. Throws: what its function throws.
BodyChecksums checksums_of(const HttpBody& body);

}  // namespace crochet::inline v0::cloud::internal
