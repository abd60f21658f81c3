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

namespace crochet::inline v0::internal {

// Metrics of checkpoints that are not in their sidecars yet: the checkpoint may not be written yet,
// and noting a metric does not wait for files.
//
// Thread-safe.
class NotedMetrics {
 public:
  // `is_to_come(prefix)`: a save of this checkpoint is in progress. If there are too many others,
  // those of the oldest are dropped.
  void note(const std::string& prefix, const std::map<std::string, double>& metrics,
            const std::function<bool(const std::string& prefix)>& is_to_come);
  std::map<std::string, double> of(const std::string& prefix) const;
  // Drops those that are in a checkpoint's sidecar.
  void forget_recorded(FileSystem& files, const std::string& prefix);
  // Writes the metrics of existing checkpoints into their sidecars. Logs failures as warnings.
  void write(FileSystem& files);

 private:
  using Noted = std::pair<std::string, std::map<std::string, double>>;
  // Requires: the mutex is held.
  std::vector<Noted>::iterator find(const std::string& prefix);

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<Noted> noted_;  // One per prefix, the oldest first.
};

}  // namespace crochet::inline v0::internal
