// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "tools/found_checkpoint.h"

namespace crochet::tool {

enum class Depth {
  kOutside,     // The index, the sizes of the files, what the sidecar says of both.
  kEverything,  // All that is stored, too.
};

struct Inspection {
  // What is wrong, a line each; nothing if the checkpoint is sound.
  std::vector<std::string> damage = {};
  // A run has removed it since it was found; then there is no damage.
  bool is_gone = false;
  // False for safetensors files of others: only their structure can be verified.
  bool has_checksums = true;

  bool is_sound() const { return damage.empty(); }
};
// Throws: errors that say nothing about the checkpoint and may pass: PermissionDeniedError,
// ResourceExhaustedError, UnknownError (EIO, say). Then there is no answer, and nothing is to be
// changed.
Inspection inspect(FileSystem& files, const FoundCheckpoint& checkpoint, Depth depth);

// True for errors that say that a file is damaged, false for those that may pass.
bool is_damage(const Error& error);

// A tensor for a command that goes on if one is damaged.
struct ReadResult {
  std::optional<Tensor> tensor = {};
  // Why there is none; it may be damaged, or of a type that cannot be read at all.
  std::string problem = {};
  bool is_damaged = false;
};
// Its checksum has been verified. A large one is not held in memory, but mapped, where that can be
// done.
ReadResult read_if_sound(const CheckpointReader& reader, const std::string& name);

}  // namespace crochet::tool
