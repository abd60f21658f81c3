// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace crochet::inline v0::internal {

// Elements of less than a byte are stored without gaps, the first in the lowest bits: F4, F6_E2M3,
// F6_E3M2. In memory each is a byte.

// Requires: `packed` has as many bytes as the elements need, which are whole.
void unpack_elements(std::span<const std::byte> packed, unsigned bits,
                     std::span<std::byte> elements);
// The inverse; bits above those of an element are dropped.
void pack_elements(std::span<const std::byte> elements, unsigned bits, std::span<std::byte> packed);

}  // namespace crochet::inline v0::internal
