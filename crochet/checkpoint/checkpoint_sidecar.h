// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/io/file_system.h"

namespace crochet {

// What is worth knowing of a checkpoint without opening it; kept in `<prefix>.json`.
// No checkpoint needs its sidecar: TensorFlow's have none.
struct CheckpointSidecar {
  int64_t step = 0;
  // Seconds since 1970-01-01 UTC at which the save began.
  double unix_time = 0;
  // Of data and index.
  uint64_t size_bytes = 0;
  // The masked crc32c of the index file's bytes; of a safetensors file, of length and header.
  uint32_t index_crc32c = 0;
  // Of crochet. Filled in by write_sidecar if empty.
  std::string library_version = {};
  // Of the program that saved. Filled in by write_sidecar if empty.
  std::vector<std::string> command_line = {};
  std::map<std::string, double> metrics = {};

  friend bool operator==(const CheckpointSidecar&, const CheckpointSidecar&) = default;
};

std::string sidecar_filename(std::string_view prefix);

// Writes the sidecar of a checkpoint, replacing an older one in one step.
void write_sidecar(FileSystem& files, const std::string& prefix, CheckpointSidecar sidecar);

// Nothing if there is none, or, with a warning, if it is damaged. Fields it lacks have their
// defaults; metrics that are not finite come back as NaN.
std::optional<CheckpointSidecar> read_sidecar(FileSystem& files, const std::string& prefix);

}  // namespace crochet
