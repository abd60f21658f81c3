// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/checkpoint/directory/checkpoint_directory.h"
#include "crochet/checkpoint/directory/checkpoint_history.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/directory/retention_clock.h"

namespace crochet::internal {

struct CheckpointListOptions {
  // None: nothing is ever removed.
  std::vector<RetentionPolicy> policies = {};
  // Lists all checkpoints even without policies. Otherwise the state file names only the newest.
  bool lists_all = false;
  std::string latest_filename = "checkpoint";
  bool writes_state = true;
  // The state file has the time of each checkpoint, as those of TensorFlow's CheckpointManager do.
  bool writes_times = false;
};

// The checkpoints that a saver lists in the directory where it saves: which there are, which of
// them the policies let go, and what the state file says.
//
// Thread-safe. Policies are the user's functions: they are asked with no mutex held.
class CheckpointList {
 public:
  // Requires: `clock` outlives this.
  CheckpointList(const Clock& clock, CheckpointListOptions options);

  // The time by which retention counts hours, and which sidecars have; see RetentionClock.
  double now() const;
  // An earlier process wrote this time.
  void catch_up(double time);

  // Begins a new list if the present one is of another directory.
  void follow(const std::string& directory);
  // Takes what the directory has of the name "<basename>-<step>" into the list, once for each name.
  // False, with a line in the log, if that cannot be read now.
  bool learn(const CheckpointDirectory& directory, const std::string& basename);
  // Lists nothing of what is there: what cannot be read cannot be removed either.
  void do_without(const std::string& directory, const std::string& basename);

  // Puts a checkpoint that was published at the end of the list. Its metrics are in its sidecar.
  void add(const std::string& prefix, double time);
  // Asks the policies which of the listed checkpoints are to go. Returns those.
  std::vector<std::string> sweep(FileSystem& files);
  // Replaces the state file by one that names `newest` and the listed checkpoints but for these.
  void write_state_without(FileSystem& files, const std::vector<std::string>& surplus,
                           const std::string& newest);
  // Removes what CheckpointDirectory::remove() removes of these.
  void remove_surplus(CheckpointDirectory& directory, const std::vector<std::string>& surplus);

  // One was restored, and these turned out to be damaged.
  void note_restored(const std::string& restored, const std::vector<std::string>& damaged);

  // Oldest first.
  std::vector<std::string> prefixes() const;
  // Replaces the list. From now on the caller says what is in it, whatever a directory has.
  void set(std::vector<CheckpointRecord> records);
  // The time and step from which retention goes on.
  void set_last_preserved(double time, int64_t step);

 private:
  bool lists_any() const { return options_.lists_all || !options_.policies.empty(); }
  // Requires: mutex_ is held.
  bool is_learned(const std::string& path) const { return !learned_ || learned_->contains(path); }
  void take_over(const FoundHistory& found);

  const CheckpointListOptions options_;

  mutable std::mutex mutex_;  // Guards what follows.
  RetentionClock clock_;
  CheckpointHistory history_;
  std::optional<std::string> directory_;
  // "<directory>/<basename>" of the checkpoints in the list; unset: the caller says what is in it.
  std::optional<std::set<std::string>> learned_ = std::set<std::string>();
};

}  // namespace crochet::internal
