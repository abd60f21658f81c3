// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "crochet/checkpoint/saver/name_patterns.h"

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

}  // namespace crochet::inline v0
