// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "crochet/io/file_system.h"

namespace crochet::tool {

// The prefix of the checkpoint that a user means by a path: the prefix itself, any file of a
// checkpoint, a directory or its state file for the newest in it.
// Throws: NotFoundError that says what is there instead; InvalidArgumentError for a directory in
// which several could be meant.
std::string checkpoint_argument(FileSystem& files, const std::string& path);

// True if the path stands for all checkpoints of a directory: the directory, or its state file.
// `directory` becomes its path then.
bool directory_argument(FileSystem& files, const std::string& path, std::string& directory);

}  // namespace crochet::tool
