// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/io/file_system.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0::internal {

// What happens to the values that only the checkpoint has.
enum class SurplusValues {
  kIgnored,
  kRefused,  // Except for those of options.allow_surplus.
};

// As crochet::load(), for the values that `track` lists; their names have no prefix.
CROCHET_EXPORT RestoreReport load_values(const RestoreOptions& options, SurplusValues surplus,
                                         const std::function<void(Tracker& tracker)>& track,
                                         FileSystem* files);

}  // namespace crochet::inline v0::internal
