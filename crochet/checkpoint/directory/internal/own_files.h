// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// What a run keeps in its directory, beside the files that its program writes there.
enum class OwnFile {
  kNone,            // Not the run's.
  kCheckpoint,      // Of a checkpoint, or of a save or removal that was interrupted.
  kSetAside,        // "<file of a checkpoint>.damaged", and the like.
  kTemporaryState,  // Of a replacement of the state file that was interrupted.
  kRecord,  // The state file, locks, curves, the graph, the record of the fallback directory.
};

// By the name without a directory, for the usual name of the state file.
CROCHET_EXPORT OwnFile own_file(std::string_view name);

}  // namespace crochet::inline v0::internal
