// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// The crc32 of zip archives and of zlib: that of "123456789" is 0xcbf43926. Returns the crc of the
// bytes that `crc` was computed from, followed by `data`; 0 is the crc of no bytes.
CROCHET_EXPORT uint32_t extend_crc32(uint32_t crc, std::span<const std::byte> data);

}  // namespace crochet::inline v0::internal
