// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/checkpoint/checkpoint_reader.h"
#include "tools/found_checkpoint.h"

namespace crochet::tool {

enum class Depth {
  kOutside,     // The index, the sizes of the files, what the sidecar says of both.
  kEverything,  // All that is stored, too.
};

// What is wrong with a checkpoint, a line each; nothing if it is sound.
// Throws: errors that say nothing about the checkpoint, as PermissionDeniedError does.
std::vector<std::string> find_damage(FileSystem& files, const FoundCheckpoint& checkpoint,
                                     Depth depth);

// True for errors that say that a file is damaged.
bool is_damage(const Error& error);

// Reads a tensor for a command that goes on if one is damaged. Nothing if it is, or if its type
// cannot be read at all; `problem` says why then.
std::optional<Tensor> read_if_sound(const CheckpointReader& reader, const std::string& name,
                                    std::string& problem);

}  // namespace crochet::tool
