// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// The content of the file `checkpoint` of a directory, which lists its checkpoints:
// TensorFlow's message CheckpointState, in protobuf's text format.
struct CheckpointState {
  // The prefix of the newest checkpoint.
  std::string model_checkpoint_path = {};
  // All listed checkpoints, oldest first; the last one is the newest.
  std::vector<std::string> all_model_checkpoint_paths = {};
  // The time at which each was written, in seconds since 1970-01-01 UTC; empty, or one for each.
  std::vector<double> all_model_checkpoint_timestamps = {};
  // The time of the newest checkpoint that is kept forever.
  std::optional<double> last_preserved_timestamp = {};
  // Checkpoints no longer listed and about to be removed, so that what a kill leaves of them can be
  // removed. In the file these are comments, `# removing: "model.ckpt-100"`, which TensorFlow
  // skips.
  std::vector<std::string> removing_paths = {};

  friend bool operator==(const CheckpointState&, const CheckpointState&) = default;
};

// Convert a state to text, one `name: value` per line, and back. Unknown fields are skipped.
// parse_checkpoint_state throws InvalidArgumentError with the line for malformed text.
CROCHET_EXPORT std::string to_text(const CheckpointState& state);
CROCHET_EXPORT CheckpointState parse_checkpoint_state(std::string_view text);

struct UpdateCheckpointStateOptions {
  // The state file, in the directory.
  FileName latest_filename = "checkpoint";
  std::vector<double> all_model_checkpoint_timestamps = {};
  std::optional<double> last_preserved_timestamp = {};
  std::vector<std::string> removing_paths = {};
  // Stores absolute paths relative to the directory, so that it can be moved.
  bool save_relative_paths = false;
};

// The state that update_checkpoint_state writes. The newest path is appended to the others unless
// it is already the last. Relative paths are relative to the current directory, and rewritten to be
// relative to `directory` if that is also relative; with an absolute `directory`, paths are
// unchanged.
// Throws: InvalidArgumentError if there are timestamps, but not one per path.
CROCHET_EXPORT CheckpointState
make_checkpoint_state(const std::string& directory, const std::string& model_checkpoint_path,
                      std::vector<std::string> all_model_checkpoint_paths = {},
                      const UpdateCheckpointStateOptions& options = {});

// Replaces the state file of a directory, in one atomic step.
// Throws: as make_checkpoint_state; FailedPreconditionError if the newest path is the state file.
CROCHET_EXPORT void update_checkpoint_state(
    FileSystem& files, const std::string& directory, const std::string& model_checkpoint_path,
    const std::vector<std::string>& all_model_checkpoint_paths = {},
    const UpdateCheckpointStateOptions& options = {});

// For the start of a run, whose saves find out only once their checkpoints are durable.
// Throws: FailedPreconditionError if the state file is a symbolic link, which is never replaced.
CROCHET_EXPORT void check_replaceable_state(FileSystem& files, const std::string& directory,
                                            const FileName& latest_filename = "checkpoint");

// The state of a directory, with relative paths joined to it; unset if it has none, or, with
// a warning, a damaged one.
// Throws: InvalidArgumentError if the state names no newest checkpoint; what the file system throws
// if it cannot be read now.
CROCHET_EXPORT std::optional<CheckpointState> load_checkpoint_state(
    FileSystem& files, const std::string& directory,
    const FileName& latest_filename = "checkpoint");

// The same; also unset, with a warning, if it cannot be read.
// Throws: InvalidArgumentError if the state names no newest checkpoint.
CROCHET_EXPORT std::optional<CheckpointState> get_checkpoint_state(
    FileSystem& files, const std::string& directory,
    const FileName& latest_filename = "checkpoint");

// The newest prefix of a directory's state. Unset if there is no state or,
// with a log line, no such checkpoint; older ones are not tried.
// Throws: as get_checkpoint_state.
CROCHET_EXPORT std::optional<std::string> latest_checkpoint(
    FileSystem& files, const std::string& directory,
    const FileName& latest_filename = "checkpoint");

}  // namespace crochet::inline v0
