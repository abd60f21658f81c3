// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "crochet/io/file_system.h"

namespace crochet::internal {

// Metrics of checkpoints that are not in their sidecars yet: the checkpoint may still be to come,
// and nobody waits for a file to note one.
//
// Thread-safe.
class NotedMetrics {
 public:
  // `is_to_come(prefix)`: a save of this checkpoint is under way. Those of the oldest of all others
  // are forgotten if there are too many.
  void note(const std::string& prefix, const std::map<std::string, double>& metrics,
            const std::function<bool(const std::string& prefix)>& is_to_come);
  std::map<std::string, double> of(const std::string& prefix) const;
  // Forgets those that a checkpoint's sidecar has.
  void forget_recorded(FileSystem& files, const std::string& prefix);
  // Writes those of checkpoints that are there into their sidecars. What fails is a warning.
  void write(FileSystem& files);

 private:
  using Noted = std::pair<std::string, std::map<std::string, double>>;
  // Requires: the mutex is held.
  std::vector<Noted>::iterator find(const std::string& prefix);

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<Noted> noted_;  // One for each prefix, the oldest first.
};

}  // namespace crochet::internal
