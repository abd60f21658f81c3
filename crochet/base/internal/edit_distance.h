// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace crochet::inline v0::internal {

// The number of characters to insert, remove or replace.
size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace crochet::inline v0::internal
