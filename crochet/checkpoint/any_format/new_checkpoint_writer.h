// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

struct NewCheckpointOptions {
  int num_shards = 1;
  // If known, the approximate size of each data file.
  std::vector<uint64_t> expected_bytes = {};
  // See BundleWriterOptions.
  std::vector<std::string> linked_files = {};
};

// `files` is not owned and must outlive the writer. Throws: InvalidArgumentError for no data files
// or more than 99999, for the format kTorch, and for linked files in any format but kTensorBundle;
// what FileSystem::link() throws.
CROCHET_EXPORT std::unique_ptr<CheckpointWriter> new_checkpoint_writer(
    CheckpointFormat format, FileSystem& files, std::string prefix,
    NewCheckpointOptions options = {});

}  // namespace crochet::inline v0
