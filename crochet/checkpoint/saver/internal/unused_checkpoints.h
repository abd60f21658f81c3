// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/checkpoint/directory/internal/restore_candidates.h"

namespace crochet::inline v0::internal {

// The checkpoints that a restore passed over.
struct UnusedCheckpoints {
  std::string directory = {};
  std::string basename = {};
  std::string restored = {};                     // Their prefix.
  std::vector<RestoreCandidate> damaged = {};    // The newest first.
  std::vector<RestoreCandidate> abandoned = {};  // The newest last.

  std::vector<std::string> prefixes() const {
    std::vector<std::string> all;
    for (const auto* const each : {&damaged, &abandoned})
      for (const RestoreCandidate& candidate : *each) all.push_back(candidate.prefix);
    return all;
  }
};

}  // namespace crochet::inline v0::internal
