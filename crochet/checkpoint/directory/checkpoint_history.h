// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/directory/retention.h"
#include "crochet/io/file_system.h"

namespace crochet::internal {

// What becomes of the listed checkpoints.
struct Sweep {
  // To be removed; they stay in the list until remove().
  std::vector<std::string> surplus = {};
  // To stay for ever; they have left the list.
  std::vector<std::string> preserved = {};
};

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
  // Takes over what was learnt anew of those that are still listed.
  void update(const std::vector<CheckpointRecord>& records);
  void remove(const std::string& prefix);
  // Takes over what became, in a copy of this, of those that were listed when it was made.
  void take_over_sweep(const CheckpointHistory& copy, const std::vector<std::string>& listed);
  // Notes that a checkpoint was restored, if it is listed.
  void set_verified(const std::string& prefix);

  double last_preserved_time() const { return last_preserved_time_; }
  void set_last_preserved(double time, int64_t step);

  // Asks the policies about each checkpoint, the oldest first; then, once those that are preserved
  // have left the list, about the others again. Never to be removed: the newest, the
  // last sound one, those that are pinned, and those of unknown time. What no policy keeps and no
  // Saver is known to have published leaves the list, and stays.
  Sweep sweep();

 private:
  // Calls `decide` for each checkpoint that may go, the oldest first, with the policies' wish.
  // Those for which it says no leave the list.
  template <typename Decide>
  void ask(Decide decide);
  Retention wish_for(const CheckpointRecord& record, size_t num_newer) const;

  std::vector<RetentionPolicy> policies_;
  std::vector<CheckpointRecord> records_;
  double last_preserved_time_ = 0;
  int64_t last_preserved_step_ = 0;
};

// What is known of a checkpoint on disk: from the sidecar; its time, without that, is the index's
// modification time. Nothing if there is no such checkpoint.
std::optional<CheckpointRecord> find_record(FileSystem& files, const std::string& prefix);

// Reads the sidecars again, in which other processes may have pinned checkpoints or recorded
// metrics. Of one that cannot be read at this moment the checkpoint counts as pinned.
void refresh(FileSystem& files, std::vector<CheckpointRecord>& records);

// Writes into their sidecars that these stay for ever, in case the state file is lost. A warning if
// that fails.
void mark_preserved(FileSystem& files, const std::vector<std::string>& prefixes);

// What a saver finds in a directory where it, or one before it, has saved.
struct FoundHistory {
  // Those that its state file lists, in its order; before them those that it names as being
  // removed, behind them newer ones, that a killed save did not list any more. All
  // there are if the state lists none. Oldest first.
  std::vector<CheckpointRecord> listed = {};
  // The time and step that retention goes on from; unset if there is nothing to go by.
  std::optional<double> last_preserved_time = {};
  int64_t last_preserved_step = 0;
};
// Of the checkpoints "<basename>-<step>". Damaged files are as good as none; a sidecar that cannot
// be read now makes its checkpoint count as pinned. Throws: what the file system throws if
// directory or state file cannot be read now: nothing is known then of what is to stay.
FoundHistory find_history(FileSystem& files, const std::string& directory,
                          const std::string& basename, const std::string& latest_filename);

}  // namespace crochet::internal
