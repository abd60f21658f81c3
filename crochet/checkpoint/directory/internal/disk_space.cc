// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/disk_space.h"

#include <optional>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

// An entry of the index: type, shape, shard, offset, size and checksum as a message, plus the
// overhead of the table. Large shapes take a little more, shared prefixes of keys less.
constexpr uint64_t kBytesOfEntry = 64;
// Header and footer of the table, sidecar and state file: each a block or less of a disk.
constexpr uint64_t kBytesBeside = 4 * 4096;
// The directory, or its nearest existing parent.
std::string existing_directory(FileSystem& files, std::string directory) {
  while (!directory.empty() && directory != "/" && !files.exists(directory))
    directory = directory_of(directory);
  return or_current(directory);
}

// Unset if the file system refuses to report it.
std::optional<uint64_t> free_bytes(FileSystem& files, const std::string& directory) {
  try {
    return files.free_bytes(existing_directory(files, directory));
  } catch (const Error& error) {
    log_warning(fmt::format("the free space is unknown: {}", error.what()));
    return std::nullopt;
  }
}

}  // namespace

uint64_t bytes_of_checkpoint(const Snapshot& snapshot) {
  uint64_t sum = kBytesBeside;
  for (const auto& [name, tensor] : snapshot.readable())
    sum += max_stored_bytes(tensor) + name.size() + kBytesOfEntry;
  if (snapshot.meta_graph() != nullptr) sum += snapshot.meta_graph()->size();
  return sum;
}

void throw_if_full(FileSystem& files, const std::string& prefix, uint64_t needed) {
  const std::optional<uint64_t> free = free_bytes(files, directory_of(prefix));
  // Some network and user space file systems report 0.
  if (!free || *free == 0 || *free >= needed) return;
  throw ResourceExhaustedError(fmt::format(
      "{}: no room for the checkpoint {}: it needs {} bytes, {} are free; nothing was written",
      parent_directory(prefix), base_name(prefix), needed, *free));
}

std::string text_if_full(FileSystem& files, const std::string& prefix, uint64_t needed) {
  const std::optional<uint64_t> free = free_bytes(files, directory_of(prefix));
  if (!free || *free >= needed) return "";
  return fmt::format("; the checkpoint needs {} bytes, but {} has {} free", needed,
                     parent_directory(prefix), *free);
}

}  // namespace crochet::inline v0::internal
