// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/crc32c.h"

namespace crochet::inline v0 {

uint32_t crc32c(std::span<const std::byte> data) { return extend_crc32c(0, data); }

uint32_t crc32c(std::string_view data) { return crc32c(std::as_bytes(std::span(data))); }

}  // namespace crochet::inline v0
