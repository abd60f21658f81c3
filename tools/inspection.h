// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/found_checkpoint.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"

namespace crochet::tool {

enum class Depth {
  kOutside,     // The index and the sizes of the files, compared with the sidecar.
  kEverything,  // All stored data, too.
};

struct Inspection {
  // The damage, one line each; empty if the checkpoint is sound.
  std::vector<std::string> damage = {};
  // True if a run has removed it since it was found; then there is no damage.
  bool is_gone = false;
  // False for safetensors files of other programs: only their structure can be verified.
  bool has_checksums = true;

  bool is_sound() const { return damage.empty(); }
};
// Throws: errors that are not evidence of damage and may be temporary: PermissionDeniedError,
// ResourceExhaustedError, UnknownError (such as EIO). Then the result is unknown, and nothing must
// be changed.
Inspection inspect(FileSystem& files, const internal::FoundCheckpoint& checkpoint, Depth depth);

// True for errors that mean that a file is damaged, false for those that may be temporary.
bool is_damage(const Error& error);

// The result of reading a tensor, for a command that continues if one is damaged.
struct ReadResult {
  std::optional<Tensor> tensor = {};
  // Why there is no tensor: it is damaged, or of an unsupported type.
  std::string problem = {};
  bool is_damaged = false;
};
// Reads a tensor and verifies its checksum. A large one is not read into memory but mapped, if
// possible.
ReadResult read_if_sound(const CheckpointReader& reader, const std::string& name);

}  // namespace crochet::tool
