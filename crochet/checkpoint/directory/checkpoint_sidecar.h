// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/io/file_system.h"

namespace crochet {

// What is worth knowing of a checkpoint without opening it; kept in `<prefix>.json`.
// No checkpoint needs its sidecar to be restored: TensorFlow's have none. But retention removes
// none without it.
struct CheckpointSidecar {
  // -1 for a checkpoint without a step.
  int64_t step = 0;
  // Seconds since 1970-01-01 UTC at which the save began.
  double unix_time = 0;
  // The same by the saver's own clock, which neither jumps nor goes back; see RetentionClock.
  double retention_time = 0;
  // Of data and index.
  uint64_t size_bytes = 0;
  // The masked crc32c of the index file's bytes; of a safetensors file, of length and header; 0 if
  // it is not known.
  uint32_t index_crc32c = 0;
  // Of crochet. Filled in by write_sidecar if empty.
  std::string library_version = {};
  // The compiler, and the commit if that was known. Filled in by write_sidecar if empty.
  std::string build = {};
  // Of the program that saved, its first 64 KiB. Filled in by write_sidecar if empty.
  std::vector<std::string> command_line = {};
  std::map<std::string, double> metrics = {};
  // Retention never removes it.
  bool pinned = false;
  // A policy decided that it stays for ever.
  bool preserved = false;

  friend bool operator==(const CheckpointSidecar&, const CheckpointSidecar&) = default;
};

// Writes the sidecar of a checkpoint, replacing an older one in one step.
// Throws: InvalidArgumentError for one of more than 1 MiB; what the file system throws.
void write_sidecar(FileSystem& files, const std::string& prefix, CheckpointSidecar sidecar);

// Nothing if there is none. Fields it lacks have their defaults, unknown ones are
// skipped; metrics that are not finite come back as NaN.
// Throws: DataLossError for one that is damaged; what the file system throws.
std::optional<CheckpointSidecar> load_sidecar(FileSystem& files, const std::string& prefix);

// The same; nothing too, with a warning, if it is damaged or cannot be read.
std::optional<CheckpointSidecar> read_sidecar(FileSystem& files, const std::string& prefix);

// Changes what is known of a checkpoint. Other processes that change it at this moment wait, by a
// lock on `<directory>/.sidecar_lock`. One that is missing or damaged is made anew, without what
// only its saver knew.
// Throws: NotFoundError without such a checkpoint; DeadlineExceededError if another process
// holds the lock for 10 s; what the file system throws.
void update_sidecar(FileSystem& files, const std::string& prefix,
                    const std::function<void(CheckpointSidecar& sidecar)>& change);

// Adds metrics to those of a checkpoint, from whatever process: an evaluation that has ended after
// the save, say. Throws: as update_sidecar.
void record_metrics(FileSystem& files, const std::string& prefix,
                    const std::map<std::string, double>& metrics);

// Says whether retention may ever remove a checkpoint. Throws: as update_sidecar.
void set_pinned(FileSystem& files, const std::string& prefix, bool pinned);

namespace internal {
// The lock on `<directory>/.sidecar_lock`. Throws: as update_sidecar.
std::unique_ptr<FileLock> lock_sidecars(FileSystem& files, const std::string& directory);
// As read_sidecar() if it is damaged, and as load_sidecar() if it cannot be read now.
std::optional<CheckpointSidecar> load_if_sound(FileSystem& files, const std::string& prefix);
}  // namespace internal

}  // namespace crochet
