// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/saver/internal/restore_rules.h"
#include "crochet/checkpoint/saver/internal/variable_selection.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/session/internal/state_operations.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// Restores the tensors of a checkpoint to the session's graph. Checks all names, types and shapes,
// then that all data exists, and then reads each data file from start to end into the variables.
// With `operations`, these restore the variables. With `initialize` as well, the variables are
// restored first, it is called, and then the operations restore everything: see Saver::restore.
// Throws: an error that lists all mismatches: NotFoundError if the only problem is that names are
// missing from the checkpoint, otherwise InvalidArgumentError; DataLossError from reading.
RestoreReport restore_state(Session& session, const CheckpointReader& reader,
                            const VariableSelection& selection = {}, const RestoreRules& rules = {},
                            StateOperations* operations = nullptr,
                            const std::function<void()>& initialize = {});

}  // namespace crochet::inline v0::internal
