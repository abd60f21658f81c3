// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/saver/saver.h"

namespace crochet {

namespace internal {
class CheckpointList;
}

struct CheckpointManagerOptions {
  std::string directory = {};
  // How many of the newest checkpoints to keep; unset keeps, and lists, all.
  std::optional<int> max_to_keep = 5;
  // Of those that max_to_keep would remove, one of every so many hours stays for ever; 0 is off.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  // Checkpoints are called "<directory>/<checkpoint_name>-<number>".
  std::string checkpoint_name = "ckpt";
  // More policies, beside these.
  std::vector<RetentionPolicy> retention = {};
  // What is saved, and how. The manager keeps the list and the state file itself: max_to_keep,
  // policies and write_state of these options mean nothing.
  SaverOptions saver = {};
};

// Saves numbered checkpoints into one directory and keeps the newest ones, for programs without
// a monitored session.
//
//   CheckpointManager manager({.directory = "runs/x", .max_to_keep = 3});
//   for (int epoch = 0; epoch < 100; ++epoch) {
//     train(session);
//     manager.save(session);    // runs/x/ckpt-1, runs/x/ckpt-2, ...
//   }
//
// The state file has the time of each checkpoint, and the next process goes on from there: by the
// clock of Saver's retention, which starts no sooner than an earlier one wrote, and which no step
// of the wall clock moves.
//
// Not thread-safe.
class CheckpointManager {
 public:
  // Throws: InvalidArgumentError without a directory, and for options out of range.
  explicit CheckpointManager(CheckpointManagerOptions options);

  // Saves as this number, or as the number of saves so far; returns the prefix. An older checkpoint
  // that cannot be removed is logged, and tried again after the next save.
  // Throws: as Saver::save.
  std::string save(Session& session, std::optional<int64_t> checkpoint_number = {});

  // The newest one, whoever saved it: what the state file says, if that is one of this name and
  // directory, else the one with the highest number; unset if there is none.
  const std::optional<std::string>& latest_checkpoint() const { return latest_; }
  // Those that may be removed one day, oldest first.
  std::vector<std::string> checkpoints() const { return saver_.last_checkpoints(); }
  // Saves so far. The first manager of a directory begins with 0, a later one with the highest
  // number there is, so that it overwrites nothing.
  int64_t save_counter() const { return save_counter_; }
  const std::string& directory() const { return options_.directory; }
  // For restoring.
  Saver& saver() { return saver_; }

 private:
  void recover(const CheckpointState& state, const std::vector<std::string>& on_disk);
  void catch_up(const CheckpointState& state, const std::vector<CheckpointRecord>& listed);

  const CheckpointManagerOptions options_;
  Saver saver_;
  internal::CheckpointList& list_;  // The saver's.
  std::optional<std::string> latest_;
  int64_t save_counter_ = 0;
};

}  // namespace crochet
