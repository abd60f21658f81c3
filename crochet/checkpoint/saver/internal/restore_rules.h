// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/checkpoint/saver/restore_options.h"

namespace crochet::inline v0::internal {

// How much a checkpoint may differ from the graph that one restore fills.
struct RestoreRules {
  RestoreOptions options = {};
  // The session has lost its state, which the program knows: changes of the structure are not
  // logged.
  bool is_recovery = false;

  // True if all values of the program are restored as they are stored, under their own names.
  bool is_exact() const {
    return options.reshape.empty() && options.convert_dtype.empty() &&
           options.allow_missing.empty() && options.allow_mismatched.empty() &&
           options.keep.empty() && options.rename.empty();
  }
};

}  // namespace crochet::inline v0::internal
