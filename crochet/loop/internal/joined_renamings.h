// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/checkpoint/saver/internal/restore_mismatch.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/session/graph.h"

namespace crochet::inline v0::internal {

// Renamings, and what they leave of a mismatch.
struct JoinedRenamings {
  // `renamings` are those of single values. Where all values of a module have other names, and the
  // names differ only in the module's, they become one rule for the module: "net/a.*" for a
  // submodule "a", "net" for the module itself. So what has no value to compare is renamed, too,
  // as are modes and gradients.
  JoinedRenamings(const std::vector<StoredName>& renamings, const RestoreMismatch& mismatch,
                  const Graph& graph);

  std::vector<StoredName> rules;
  // The names of values that are still missing, and those in the checkpoint of which nothing is
  // taken.
  std::vector<std::string> missing;
  std::vector<std::string> surplus;
};

}  // namespace crochet::inline v0::internal
