// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// The texts for a message: "a, b, c", or the first 8 of them "and 3 more".
CROCHET_EXPORT std::string listed(std::span<const std::string> texts);

}  // namespace crochet::inline v0::internal
