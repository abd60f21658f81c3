// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/loop/loop_options.h"

namespace crochet::inline v0::internal {

// Those that concern a saver: what may differ, and to which of the run's own checkpoints it goes
// back.
RestoreOptions for_saver(RestoreOptions options);

// The options of a run's saver, which has the run's files and clock unless it is given its own.
SaverOptions saver_options(const CheckpointOptions& checkpoint, FileSystem* files, Clock* clock);

// Restores what `options.only` selects from `options.from`, a checkpoint of another run; with
// `is_left`, only those for which it is true, of which there may be none. Throws: as
// chosen_checkpoint() and Saver::restore do.
RestoreReport restore_from(Session& session, const RestoreOptions& options, FileSystem* files,
                           const std::function<bool(std::string_view name)>& is_left = {});

}  // namespace crochet::inline v0::internal
