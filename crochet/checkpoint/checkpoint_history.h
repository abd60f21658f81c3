// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/retention.h"
#include "crochet/io/file_system.h"

namespace crochet::internal {

// The checkpoints that a saver lists, oldest first, and which of them its policies let go.
//
// Not thread-safe.
class CheckpointHistory {
 public:
  // Without policies nothing ever goes.
  explicit CheckpointHistory(std::vector<RetentionPolicy> policies = {})
      : policies_(std::move(policies)) {}

  const std::vector<CheckpointRecord>& records() const { return records_; }
  std::vector<std::string> prefixes() const { return prefixes_without({}); }
  std::vector<std::string> prefixes_without(const std::vector<std::string>& left_out) const;
  // Replaces the whole list.
  void set(std::vector<CheckpointRecord> records) { records_ = std::move(records); }
  // Puts a checkpoint behind the others; one that is listed already becomes the newest.
  void add(CheckpointRecord record);
  void remove(const std::string& prefix);

  double last_preserved_time() const { return last_preserved_time_; }
  void set_last_preserved(double time, int64_t step);

  // Asks the policies about each checkpoint, the oldest first. What is to be preserved leaves the
  // list; what is to be removed stays in it until remove(), and is returned. The newest is never
  // among them, nor is one of unknown time.
  std::vector<std::string> sweep();

 private:
  const std::vector<RetentionPolicy> policies_;
  std::vector<CheckpointRecord> records_;
  double last_preserved_time_ = 0;
  int64_t last_preserved_step_ = 0;
};

// The step in "<anything>-<digits>".
std::optional<int64_t> step_of_prefix(std::string_view prefix);

// What is known of a checkpoint on disk: its time from the sidecar, else from the index's
// modification time. Nothing if there is no such checkpoint.
std::optional<CheckpointRecord> find_record(FileSystem& files, const std::string& prefix);

// Removes a checkpoint that no policy keeps. False, with a warning, if that cannot be done.
bool remove_or_warn(FileSystem& files, const std::string& prefix);

// What a saver finds in a directory where it, or one before it, has saved.
struct FoundHistory {
  // Those that its state file lists, and newer ones, that a killed save did not list any more; all
  // there are if the state lists none. Oldest first.
  std::vector<CheckpointRecord> listed = {};
  // The time and step that retention goes on from; unset if there is nothing to go by.
  std::optional<double> last_preserved_time = {};
  int64_t last_preserved_step = 0;
};
// Of the checkpoints "<basename>-<step>". Never throws for damaged files.
FoundHistory find_history(FileSystem& files, const std::string& directory,
                          const std::string& basename, const std::string& latest_filename);

}  // namespace crochet::internal
