// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/saver.h"

namespace crochet::inline v0 {

namespace internal {
class CheckpointList;
}

struct CheckpointManagerOptions {
  std::string directory = {};
  // How many of the newest checkpoints to keep; unset: keeps and lists all.
  std::optional<int> max_to_keep = 5;
  // Of those that max_to_keep would remove, one every n hours is kept forever; 0 is off.
  std::optional<double> keep_checkpoint_every_n_hours = {};
  // Checkpoints are named "<directory>/<checkpoint_name>-<number>".
  CheckpointBasename checkpoint_name = "ckpt";
  // Additional policies.
  std::vector<RetentionPolicy> retention = {};
  // What is saved, and how. The manager maintains the list and the state file itself: max_to_keep,
  // policies and write_state of these options are ignored.
  SaverOptions saver = {};
};

// Saves numbered checkpoints to one directory and keeps the newest ones, for programs without
// a monitored session.
//
//   CheckpointManager manager({.directory = "runs/x", .max_to_keep = 3});
//   for (int epoch = 0; epoch < 100; ++epoch) {
//     train(session);
//     manager.save(session);    // runs/x/ckpt-1, runs/x/ckpt-2, ...
//   }
//
// The state file has the time of each checkpoint, from which the next process continues: by the
// clock of Saver's retention, which never starts before times written by an earlier process, and is
// not affected by changes of the wall clock.
//
// Not thread-safe.
class CROCHET_EXPORT CheckpointManager {
 public:
  // Throws: InvalidArgumentError for an empty directory, and for options out of range.
  explicit CheckpointManager(CheckpointManagerOptions options);

  // Saves with this number, or with save_counter() + 1; returns the prefix. If an older checkpoint
  // cannot be removed, this is logged, and tried again after the next save.
  // Throws: as Saver::save.
  std::string save(Session& session, std::optional<int64_t> checkpoint_number = {});

  // The newest checkpoint, even if another saver wrote it: the one in the state file, if that has
  // this name and directory, otherwise the one with the highest number; unset if there is none.
  const std::optional<std::string>& latest_checkpoint() const { return latest_; }
  // The listed checkpoints, which may be removed later, oldest first.
  std::vector<std::string> checkpoints() const { return saver_.last_checkpoints(); }
  // The number of saves so far. The first manager of a directory begins with 0, a later one with
  // the highest existing number, so that it overwrites nothing.
  int64_t save_counter() const { return save_counter_; }
  const std::string& directory() const { return options_.directory; }
  // For restoring.
  Saver& saver() { return saver_; }

 private:
  // Has the saver list the checkpoints of the directory now, not only at the first save.
  void learn();

  const CheckpointManagerOptions options_;
  Saver saver_;
  const std::string path_;  // "<directory>/<checkpoint_name>".
  std::optional<std::string> latest_;
  int64_t save_counter_ = 0;
};

}  // namespace crochet::inline v0
