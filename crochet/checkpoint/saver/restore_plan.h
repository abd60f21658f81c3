// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/checkpoint/saver/name_patterns.h"
#include "crochet/checkpoint/saver/restore_report.h"
#include "crochet/checkpoint/saver/variable_selection.h"
#include "crochet/session/session.h"
#include "crochet/session/state_operations.h"

namespace crochet::inline v0 {

// How much a checkpoint may differ from the graph that restores it.
struct RestoreRules {
  NamePatterns reshape = false;
  NamePatterns convert_dtype = false;
  NamePatterns allow_missing = false;
  NamePatterns allow_mismatched = false;
  NamePatterns allow_surplus = false;
  NamePatterns keep = false;
  std::vector<StoredName> rename = {};
  // The session has lost its state, which the program knows: changes of the structure are not
  // logged.
  bool is_recovery = false;

  // True if all values of the program are restored as they are stored, under their own names.
  bool is_exact() const {
    return reshape.empty() && convert_dtype.empty() && allow_missing.empty() &&
           allow_mismatched.empty() && keep.empty() && rename.empty();
  }
};

// Restores the tensors of a checkpoint to the session's graph. Checks all names, types and shapes,
// then that all data exists, and then reads each data file from start to end into the variables.
// With `operations`, these restore the variables. With `initialize` as well, the variables are
// restored first, it is called, and then the operations restore everything: see Saver::restore.
// Throws: an error that lists all mismatches: NotFoundError if the only problem is that names are
// missing from the checkpoint, otherwise InvalidArgumentError; DataLossError from reading.
RestoreReport restore_state(Session& session, const CheckpointReader& reader,
                            const internal::VariableSelection& selection = {},
                            const RestoreRules& rules = {}, StateOperations* operations = nullptr,
                            const std::function<void()>& initialize = {});

}  // namespace crochet::inline v0
