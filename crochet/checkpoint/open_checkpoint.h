// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/checkpoint/bundle_index.h"
#include "crochet/checkpoint/checkpoint_writer.h"
#include "crochet/checkpoint/safetensors_notes.h"
#include "crochet/checkpoint/stored_data.h"
#include "crochet/io/file_system.h"

namespace crochet::internal {

// A checkpoint of either format, as a reader sees it.
struct OpenCheckpoint {
  CheckpointFormat format;
  BundleIndex index;
  std::unique_ptr<StoredData> data;
  Metadata metadata;
  bool has_checksums;
};

// Throws: as CheckpointReader's constructor.
OpenCheckpoint open_checkpoint(FileSystem& files, const std::string& prefix);

}  // namespace crochet::internal
