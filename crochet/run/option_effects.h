// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/run/loop.h"

namespace crochet::inline v0::internal {

// Throws: InvalidArgumentError, which names them, if options are set that have no effect for want
// of a directory: a run of weeks would otherwise save nothing.
void check_effects(const LoopOptions& options);

}  // namespace crochet::inline v0::internal
