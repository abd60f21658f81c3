// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace crochet {

// A checkpoint that was tried and could not be used.
struct RefusedCheckpoint {
  std::string prefix = {};
  std::string reason = {};

  friend bool operator==(const RefusedCheckpoint&, const RefusedCheckpoint&) = default;
};

// What a restore took over from a checkpoint, and what it did not.
struct RestoreReport {
  std::string prefix = {};
  // Variables and objects of the graph that have the checkpoint's values now.
  std::vector<std::string> restored = {};
  // Those that the checkpoint does not have: they are as they were.
  std::vector<std::string> missing = {};
  // Names in the checkpoint that nothing took.
  std::vector<std::string> surplus = {};
  // Of what was restored: name in the graph -> another name in the checkpoint.
  std::map<std::string, std::string> renamed = {};
  // Variables of the graph whose shape the checkpoint's was changed to.
  std::vector<std::string> reshaped = {};

  // Damaged ones that are newer, the newest first; their files have been renamed aside.
  std::vector<RefusedCheckpoint> refused = {};

  friend bool operator==(const RestoreReport&, const RestoreReport&) = default;
};

// One line for a log: numbers, the names of what is missing, surplus or reshaped, and why newer
// checkpoints were refused.
std::string to_string(const RestoreReport& report);

}  // namespace crochet
