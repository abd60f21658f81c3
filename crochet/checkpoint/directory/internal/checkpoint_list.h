// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/directory/internal/retention_clock.h"
#include "crochet/checkpoint/directory/retention.h"

namespace crochet::inline v0::internal {

struct CheckpointListOptions {
  // Empty: nothing is ever removed.
  std::vector<RetentionPolicy> policies = {};
  // Lists all checkpoints even without policies. Otherwise the state file names only the newest.
  bool lists_all = false;
  std::string latest_filename = "checkpoint";
  bool writes_state = true;
  // The state file has the time of each checkpoint, as with TensorFlow's CheckpointManager.
  bool writes_times = false;
};

// The checkpoints that a saver lists in the directory where it saves: which exist, which of them
// the policies remove, and the content of the state file.
//
// Thread-safe. Policies are user functions: they are called without a mutex held.
class CheckpointList {
 public:
  // Requires: `clock` outlives this.
  CheckpointList(const Clock& clock, CheckpointListOptions options);

  // The time by which retention counts hours, and which is written to sidecars; see RetentionClock.
  double now() const;

  // Starts a new list if the current one is of another directory.
  void follow(const std::string& directory);
  // Adds the directory's checkpoints "<basename>-<step>" to the list, once for each name.
  // False if they cannot be read now, which is logged once. Until a later call can read them, none
  // of them is removed, and the state file, which lists them, is left as it is.
  bool learn(const CheckpointDirectory& directory, const std::string& basename);

  // Appends a published checkpoint to the list. Its metrics are in its sidecar.
  void add(const std::string& prefix, double time);
  // Asks the policies which of the listed checkpoints to remove. Returns those, except any that
  // another save has replaced meanwhile.
  std::vector<std::string> sweep(FileSystem& files);
  // The checkpoint of that directory that was added last: another save may have overtaken that of
  // `prefix` while the policies were asked.
  std::string newest_beside(const std::string& prefix) const;
  // Replaces the state file by one that names `newest` and the listed checkpoints except `surplus`.
  void write_state_without(FileSystem& files, const std::vector<std::string>& surplus,
                           const std::string& newest);
  // Removes these checkpoints with CheckpointDirectory::remove().
  void remove_surplus(CheckpointDirectory& directory, const std::vector<std::string>& surplus);

  // Records that `restored` was restored, and that these were found to be damaged.
  void record_restored(const std::string& restored, const std::vector<std::string>& damaged);

  // Oldest first.
  std::vector<std::string> prefixes() const;
  // Replaces the list. From now on the caller determines its content, not the directory.
  void set(std::vector<CheckpointRecord> records);
  // Sets the time and step from which retention continues.
  void set_last_preserved(double time, int64_t step);

 private:
  bool lists_any() const { return options_.lists_all || !options_.policies.empty(); }
  // Requires: mutex_ is held.
  bool is_learned(const std::string& path) const { return !learned_ || learned_->contains(path); }
  // False if its time of the last preserved checkpoint is in the future.
  bool take_over(FoundHistory& found);

  const CheckpointListOptions options_;

  mutable std::mutex mutex_;  // Guards what follows.
  RetentionClock clock_;
  CheckpointHistory history_;
  std::string newest_;
  std::weak_ptr<void> asking_;  // Held by the sweeps that are asking the policies.
  int64_t num_added_ = 0;
  // While policies are asked: by prefix, which addition its last one was.
  std::map<std::string, int64_t> added_;
  std::optional<std::string> directory_;
  bool is_unread_ = false;  // Checkpoints exist that are not in the list, since it cannot be read.
  // "<directory>/<basename>" of the checkpoints in the list; unset: the caller sets its content.
  std::optional<std::set<std::string>> learned_ = std::set<std::string>();
};

}  // namespace crochet::inline v0::internal
