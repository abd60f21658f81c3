// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/checkpoint/saver/saver_options.h"

namespace crochet::inline v0::internal {

// The options with a number in place of each 0 that stands for one.
// Throws: InvalidArgumentError for options that are out of range or contradict each other.
SaverOptions checked(SaverOptions options);

// The same for what a saver restores.
RestoreOptions checked(RestoreOptions options);

// The policies required by the options; empty if all checkpoints are kept.
std::vector<RetentionPolicy> policies_of(const SaverOptions& options);

}  // namespace crochet::inline v0::internal
