// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/directory/retention.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The decisions about the listed checkpoints.
struct Sweep {
  // To be removed; they stay in the list until remove().
  std::vector<std::string> surplus = {};
  // To be kept forever; they have left the list.
  std::vector<std::string> preserved = {};
};

// The checkpoints that a saver lists, oldest first, and which of them its policies remove.
//
// Not thread-safe.
class CheckpointHistory {
 public:
  // Without policies nothing is ever removed.
  explicit CheckpointHistory(std::vector<RetentionPolicy> policies = {})
      : policies_(std::move(policies)) {}

  const std::vector<CheckpointRecord>& records() const { return records_; }
  std::vector<std::string> prefixes() const;
  // Replaces the whole list.
  void set(std::vector<CheckpointRecord> records) { records_ = std::move(records); }
  // Appends a checkpoint; one that is already listed becomes the newest.
  void add(CheckpointRecord record);
  // Updates the records of checkpoints that are still listed.
  void update(const std::vector<CheckpointRecord>& records);
  void remove(const std::string& prefix);
  // Applies the result of a sweep() of a copy of this; `listed` were its checkpoints when it was
  // made.
  void take_over_sweep(const CheckpointHistory& copy, const std::vector<std::string>& listed);
  // Records that a checkpoint was restored, if it is listed.
  void set_verified(const std::string& prefix);

  double last_preserved_time() const { return last_preserved_time_; }
  void set_last_preserved(double time, int64_t step);

  // Asks the policies about each checkpoint, the oldest first; then, once the preserved ones have
  // left the list, about the others again. Never removes the newest checkpoint, the last intact
  // one, pinned ones, and those of unknown time. A checkpoint that no policy keeps, but that is not
  // known to be published by a Saver, leaves the list and stays on disk.
  Sweep sweep();

 private:
  // Calls `decide` for each checkpoint that may be removed, the oldest first, with the policies'
  // decision. Checkpoints for which it returns false leave the list.
  template <typename Decide>
  void ask(Decide decide);
  Retention verdict_on(const CheckpointRecord& record, size_t num_newer) const;

  std::vector<RetentionPolicy> policies_;
  std::vector<CheckpointRecord> records_;
  double last_preserved_time_ = 0;
  int64_t last_preserved_step_ = 0;
};

// The record of a checkpoint on disk, from its sidecar; without one, its time is the modification
// time of the index. Unset if there is no such checkpoint.
std::optional<CheckpointRecord> find_record(FileSystem& files, const std::string& prefix);

// Reads the sidecars again, where other processes may have pinned checkpoints or recorded metrics.
// A checkpoint whose sidecar cannot be read now counts as pinned.
void refresh(FileSystem& files, std::vector<CheckpointRecord>& records);

// Records in their sidecars that these checkpoints are kept forever, in case the state file is
// lost. Logs a warning if that fails.
void mark_preserved(FileSystem& files, const std::vector<std::string>& prefixes);

// What a saver finds in a directory where it, or an earlier saver, has saved.
struct FoundHistory {
  // The checkpoints listed in the state file, in its order; before them those that it names as
  // being removed, after them newer ones, whose save was killed before it listed them. All existing
  // ones if the state lists none. Oldest first.
  std::vector<CheckpointRecord> listed = {};
  // The time and step from which retention continues; unset if unknown.
  std::optional<double> last_preserved_time = {};
  int64_t last_preserved_step = 0;
};
// Finds the checkpoints "<basename>-<step>". Damaged files are treated as missing; a checkpoint
// whose sidecar cannot be read now counts as pinned. Throws: what the file system throws if the
// directory or state file cannot be read now: then it is unknown which checkpoints must be kept.
FoundHistory find_history(FileSystem& files, const std::string& directory,
                          const std::string& basename, const std::string& latest_filename);

}  // namespace crochet::inline v0::internal
