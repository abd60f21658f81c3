// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/retention.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// Information about a checkpoint that is available without opening it; kept in `<prefix>.json`.
// A checkpoint can be restored without its sidecar: TensorFlow's have none. But retention never
// removes a checkpoint without one.
struct CheckpointSidecar {
  // -1 for a checkpoint without a step.
  int64_t step = 0;
  // The start of the save, in seconds since 1970-01-01 UTC.
  double unix_time = 0;
  // The same by the saver's own clock, which neither jumps nor goes back; see RetentionClock.
  double retention_time = 0;
  // The size of data and index.
  uint64_t size_bytes = 0;
  // Of these, the bytes in files that an earlier checkpoint already had: they were not written
  // again. See SaverOptions::share_unchanged.
  uint64_t shared_bytes = 0;
  // The masked crc32c of the index file's bytes; for a safetensors file, of length and header; 0 if
  // unknown.
  uint32_t index_crc32c = 0;
  // The version of crochet. Filled in by write_sidecar if empty.
  std::string library_version = {};
  // The compiler, and the commit if known. Filled in by write_sidecar if empty.
  std::string build = {};
  // The first 64 KiB of the command line that saved it, with "***" for what looks like a secret.
  // Empty if the saver records none: see SaverOptions::record_command_line.
  std::vector<std::string> command_line = {};
  // How many threads arithmetic may have used, as threads_here() returns it; empty if unknown.
  std::string threads = {};
  std::map<std::string, double> metrics = {};
  // Which values of a metric are better, as far as the saver's keep_best says it.
  std::map<std::string, Better> better = {};
  // The last earlier checkpoint that its run, or a run before it, went back to on request; empty if
  // none was. See RestoreOptions::which.
  std::string went_back_to = {};
  // The rules of RestoreOptions::rename that its run had: in it, values have the names that these
  // gave them.
  std::vector<std::string> renamed = {};
  // What its program began with, before a restore: numbers, texts and digests of random generators,
  // by name, at most 4 KiB. So a later start can tell what the program changed from what training
  // changed.
  std::map<std::string, std::string> initial_values = {};
  // Retention never removes it.
  bool pinned = false;
  // A policy decided to keep it forever.
  bool preserved = false;

  friend bool operator==(const CheckpointSidecar&, const CheckpointSidecar&) = default;
};

// The number of cores of this machine, and OMP_NUM_THREADS if it is set: "8 cores",
// "8 cores, OMP_NUM_THREADS=4".
CROCHET_EXPORT std::string threads_here();

// Writes the sidecar of a checkpoint, replacing an older one in one step.
// Throws: InvalidArgumentError for a sidecar of more than 1 MiB; what the file system throws.
CROCHET_EXPORT void write_sidecar(FileSystem& files, const std::string& prefix,
                                  CheckpointSidecar sidecar);

// Unset if there is none. Missing fields have their defaults, unknown ones are
// skipped; metrics that are not finite are read as NaN.
// Throws: DataLossError for a damaged sidecar; what the file system throws.
CROCHET_EXPORT std::optional<CheckpointSidecar> load_sidecar(FileSystem& files,
                                                             const std::string& prefix);

// The same; also unset, with a warning, if it is damaged or cannot be read.
CROCHET_EXPORT std::optional<CheckpointSidecar> read_sidecar(FileSystem& files,
                                                             const std::string& prefix);

// Changes the sidecar of a checkpoint under a lock on `<directory>/.sidecar_lock`, so that
// concurrent changes by other processes wait. A missing or damaged sidecar is created again,
// without the information that only its saver had.
// Throws: NotFoundError if there is no such checkpoint; DeadlineExceededError if another process
// holds the lock for 10 s; what the file system throws.
CROCHET_EXPORT void update_sidecar(FileSystem& files, const std::string& prefix,
                                   const std::function<void(CheckpointSidecar& sidecar)>& change);

// Adds metrics to those of a checkpoint, from any process: for example, of an evaluation that ended
// after the save. Throws: as update_sidecar.
CROCHET_EXPORT void record_metrics(FileSystem& files, const std::string& prefix,
                                   const std::map<std::string, double>& metrics);

// Sets whether a checkpoint is pinned: then retention never removes it. Throws: as update_sidecar.
CROCHET_EXPORT void set_pinned(FileSystem& files, const std::string& prefix, bool pinned);

namespace internal {
// Of a sidecar that is written, and of one that is read.
inline constexpr uint64_t kMaxSidecarBytes = uint64_t{1} << 20;

// The lock on `<directory>/.sidecar_lock`. Throws: as update_sidecar.
CROCHET_EXPORT std::unique_ptr<FileLock> lock_sidecars(FileSystem& files,
                                                       const std::string& directory);
// Like read_sidecar() if it is damaged, and like load_sidecar() if it cannot be read now.
CROCHET_EXPORT std::optional<CheckpointSidecar> load_if_sound(FileSystem& files,
                                                              const std::string& prefix);
}  // namespace internal

}  // namespace crochet::inline v0
