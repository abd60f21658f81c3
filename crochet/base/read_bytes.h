// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace crochet::inline v0 {

// Fills `into` with bytes of something, such as the elements of a tensor (row-major), from byte
// `begin` on.
using ReadBytes = std::function<void(size_t begin, std::span<std::byte> into)>;

}  // namespace crochet::inline v0
