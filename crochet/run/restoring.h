// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/checkpoint/saver/saver.h"
#include "crochet/run/restore_options.h"

namespace crochet::inline v0::internal {

// Throws: InvalidArgumentError for options that are invalid, or have no effect.
void check_options(const RestoreOptions& options, const std::string& checkpoint_dir);

// Sets the options of a saver that say what may differ.
void set_restore_options(SaverOptions& saver, const RestoreOptions& options);

// Restores what `options.only` selects from `options.from`. Throws: as chosen_checkpoint() and
// Saver::restore do.
RestoreReport restore_from(Session& session, const RestoreOptions& options, FileSystem* files);

}  // namespace crochet::inline v0::internal
