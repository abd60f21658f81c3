// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/io/file_system.h"

namespace crochet::tool {

// The prefix of the checkpoint that a path stands for: the prefix itself, any file of a
// checkpoint, or a directory or its state file for the newest in it.
// Throws: NotFoundError that lists similar names; InvalidArgumentError for a directory with
// checkpoints of several names.
std::string checkpoint_argument(FileSystem& files, const std::string& path);

// The directory, if the path stands for all checkpoints of one: the directory, or its state file.
std::optional<std::string> directory_argument(FileSystem& files, const std::string& path);

}  // namespace crochet::tool
