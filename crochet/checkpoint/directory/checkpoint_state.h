// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/io/file_system.h"

namespace crochet {

// What the file `checkpoint` of a directory says: which checkpoints there are.
// TensorFlow's message CheckpointState, in protobuf's text format.
struct CheckpointState {
  // The prefix of the newest.
  std::string model_checkpoint_path = {};
  // All that are kept, oldest first; the last one is the newest.
  std::vector<std::string> all_model_checkpoint_paths = {};
  // When each of them was written, in seconds since 1970-01-01 UTC; empty, or one for each.
  std::vector<double> all_model_checkpoint_timestamps = {};
  // The time of the newest checkpoint that is kept for ever.
  std::optional<double> last_preserved_timestamp = {};
  // Listed no more and about to be removed: what a kill leaves of them belongs to nobody. In the
  // file these are comments, `# removing: "model.ckpt-100"`, which TensorFlow skips.
  std::vector<std::string> removing_paths = {};

  friend bool operator==(const CheckpointState&, const CheckpointState&) = default;
};

// The text of a state, one `name: value` a line, and back. Unknown fields are skipped.
// parse_checkpoint_state throws InvalidArgumentError with the line for text that is none.
std::string to_text(const CheckpointState& state);
CheckpointState parse_checkpoint_state(std::string_view text);

struct UpdateCheckpointStateOptions {
  // The state file, in the directory.
  std::string latest_filename = "checkpoint";
  std::vector<double> all_model_checkpoint_timestamps = {};
  std::optional<double> last_preserved_timestamp = {};
  std::vector<std::string> removing_paths = {};
  // Stores absolute paths relative to the directory, so that it can be moved.
  bool save_relative_paths = false;
};

// The state that update_checkpoint_state writes. The newest path is put behind
// the others unless it is the last of them. Relative paths are seen from the current
// directory and rewritten as seen from `directory` if that is relative too; with an
// absolute `directory`, paths stay as they are.
// Throws: InvalidArgumentError if there are timestamps, and not as many as paths.
CheckpointState make_checkpoint_state(const std::string& directory,
                                      const std::string& model_checkpoint_path,
                                      std::vector<std::string> all_model_checkpoint_paths = {},
                                      const UpdateCheckpointStateOptions& options = {});

// Replaces the state file of a directory, in one atomic step.
// Throws: as make_checkpoint_state; FailedPreconditionError if the newest path is the state file.
void update_checkpoint_state(FileSystem& files, const std::string& directory,
                             const std::string& model_checkpoint_path,
                             const std::vector<std::string>& all_model_checkpoint_paths = {},
                             const UpdateCheckpointStateOptions& options = {});

// The state of a directory, relative paths joined with it; nothing if it has none, or, with
// a warning, a damaged one.
// Throws: InvalidArgumentError if the state names no newest checkpoint; what the file system throws
// if it cannot be read now.
std::optional<CheckpointState> load_checkpoint_state(
    FileSystem& files, const std::string& directory,
    const std::string& latest_filename = "checkpoint");

// The same; nothing too, with a warning, if it cannot be read.
// Throws: InvalidArgumentError if the state names no newest checkpoint.
std::optional<CheckpointState> get_checkpoint_state(
    FileSystem& files, const std::string& directory,
    const std::string& latest_filename = "checkpoint");

// The newest prefix of a directory's state. Nothing if there is no state or,
// with a log line, no such checkpoint; older ones are not tried.
// Throws: as get_checkpoint_state.
std::optional<std::string> latest_checkpoint(FileSystem& files, const std::string& directory,
                                             const std::string& latest_filename = "checkpoint");

}  // namespace crochet
