// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crochet/checkpoint/directory/internal/found_checkpoint.h"

namespace crochet::tool {

// A data file that several checkpoints have, each under a name of its own: if it is damaged, all of
// them are.
struct SharedData {
  std::string path;                      // Its name in the newest of them.
  std::vector<std::string> checkpoints;  // Their prefixes, the oldest first.
};

// Those of these checkpoints. Names of one file have the same size and modification time, which no
// two data files have that were written one after the other.
std::vector<SharedData> find_shared_data(FileSystem& files,
                                         std::span<const internal::FoundCheckpoint> checkpoints);

// False if more checkpoints share it than a run lets share a file: then it was saved by another
// program, or the files were linked by hand.
bool is_within_horizon(const SharedData& data);

// "run/m-4.data-00001-of-00002: 2 checkpoints share this file: m-3, m-4", and that they are too
// many.
std::string to_line(const SharedData& data);

}  // namespace crochet::tool
