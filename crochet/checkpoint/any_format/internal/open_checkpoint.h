// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/stored_tensors.h"
#include "crochet/checkpoint/format/internal/tensor_source.h"
#include "crochet/checkpoint/format/unreadable_value.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_index.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_notes.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A checkpoint of any format, opened for reading.
struct OpenCheckpoint {
  CheckpointFormat format;
  StoredTensors tensors;
  std::unique_ptr<TensorSource> data;
  Metadata metadata = {};
  bool has_checksums = true;
  // Values that cannot be read; of those whose type and shape are known, `tensors` has them, too.
  UnreadableValues unreadable = {};
  // Names in `tensors` that are second names of others, which are stored once.
  Aliases aliases = {};
};

// Throws: as CheckpointReader's constructor.
OpenCheckpoint open_checkpoint(FileSystem& files, const std::string& prefix);

}  // namespace crochet::inline v0::internal
