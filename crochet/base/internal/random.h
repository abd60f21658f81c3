// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// A random number, different for each call in this and any other process, including forked ones:
// for names of temporary files. Thread-safe.
CROCHET_EXPORT uint64_t random_number();

}  // namespace crochet::inline v0::internal
