// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

// A checkpoint that was tried and could not be used.
struct RefusedCheckpoint {
  std::string prefix = {};
  std::string reason = {};

  friend bool operator==(const RefusedCheckpoint&, const RefusedCheckpoint&) = default;
};

// A value that has another size in the checkpoint.
struct ResizedValue {
  std::string name = {};
  Shape now = {};
  Shape before = {};

  friend bool operator==(const ResizedValue&, const ResizedValue&) = default;
};

// What was restored from a checkpoint, and what was not.
struct RestoreReport {
  std::string prefix = {};
  // Variables and objects of the graph that now have the checkpoint's values.
  std::vector<std::string> restored = {};
  // Those that the checkpoint does not have, or only with another shape or type: they are
  // unchanged.
  std::vector<std::string> missing = {};
  // Those that keep the program's values, as the options ask for.
  std::vector<std::string> kept = {};
  // Names in the checkpoint that were not used.
  std::vector<std::string> surplus = {};
  // Of the restored ones: name in the graph -> another name in the checkpoint.
  std::map<std::string, std::string> renamed = {};
  // Variables whose value has another shape in the checkpoint and was reshaped.
  std::vector<std::string> reshaped = {};
  // Those whose numbers have another type in the checkpoint and were converted.
  std::vector<std::string> converted = {};

  // Entries of containers, and values of optionals and pointers, that the checkpoint lacks and that
  // are therefore gone: the topmost names.
  std::vector<std::string> dropped = {};
  // Those that only the checkpoint has, and that were made; for a container that was empty, its own
  // name. In both lists, a map or set whose keys have parts, and a variant, is one value.
  std::vector<std::string> made = {};
  // Values that were not empty and have got another size.
  std::vector<ResizedValue> resized = {};

  // Newer checkpoints that are damaged, the newest first. Their files have been renamed if this
  // process holds the directory's lock.
  std::vector<RefusedCheckpoint> refused = {};

  friend bool operator==(const RestoreReport&, const RestoreReport&) = default;
};

// One line for a log: numbers, the names of what is missing, surplus or reshaped, and why newer
// checkpoints were refused.
CROCHET_EXPORT std::string to_string(const RestoreReport& report);
CROCHET_EXPORT std::ostream& operator<<(std::ostream& out, const RestoreReport& report);

}  // namespace crochet::inline v0
