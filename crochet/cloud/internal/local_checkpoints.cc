// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/cloud/internal/local_checkpoints.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/listing.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::cloud::internal {
namespace {

using crochet::internal::FileRole;
using crochet::internal::ListedFile;

constexpr size_t kFetchedBytes = size_t{8} << 20;

bool is_stored(const ListedFile& file) {
  return file.role != FileRole::kTemporary && file.role != FileRole::kTemporaryDirectory;
}

// Of the sidecar, or else of the index.
double time_of(FileSystem& files, const std::string& prefix,
               const std::optional<CheckpointSidecar>& sidecar) {
  const double time = sidecar ? sidecar->unix_time
                              : crochet::internal::time_of_checkpoint(files, prefix).value_or(0);
  return std::isfinite(time) ? time : 0;
}

// Gives the bytes of a file to `add`, which returns the crc32c extended by them.
template <typename Add>
void read_all(Mirror& mirror, const Mirror::Copy& copy, const MirroredFile& file, const Add& add) {
  std::vector<std::byte> chunk(std::min<uint64_t>(file.size, kFetchedBytes));
  for (size_t part = 0; part < file.num_parts(); ++part) {
    uint32_t crc = 0;
    const uint64_t begin = part * kPartBytes;
    const uint64_t end = begin + file.size_of_part(part);
    for (uint64_t offset = begin; offset < end; offset += chunk.size()) {
      throw_if_signalled("bringing a checkpoint back");
      const auto bytes = std::span(chunk).first(std::min<uint64_t>(end - offset, chunk.size()));
      mirror.read(copy, file, offset, bytes, {});
      crc = add(crc, bytes);
    }
    if (crc != file.crc32c[part])
      throw DataLossError(fmt::format("{}: part {} of {} has the crc32c {:08x}, expected {:08x}",
                                      mirror.url_of(copy.upload), part, file.name, crc,
                                      file.crc32c[part]));
  }
}

void bring_back(Mirror& mirror, const Mirror::Copy& copy, const MirroredFile& file,
                FileSystem& files, const std::string& path) {
  // Under names that a killed save may leave as well, which the next start removes.
  const auto parsed = crochet::internal::parse_checkpoint_filename(file.name);
  if (parsed->role == FileRole::kSidecar || parsed->role == FileRole::kMetaGraph) {
    std::string content;
    read_all(mirror, copy, file, [&](uint32_t crc, std::span<const std::byte> bytes) {
      content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return crochet::internal::extend_crc32c(crc, bytes);
    });
    return replace_file(files, path, content);
  }
  const std::string temporary = crochet::internal::temporary_filename(path);
  try {
    const auto to = files.create_large(temporary, file.size);
    read_all(mirror, copy, file, [&](uint32_t crc, std::span<const std::byte> bytes) {
      return to->append_with_crc32c(crc, bytes);
    });
    to->sync();
    to->close();
    files.rename(temporary, path);
  } catch (...) {
    remove_left_over(files, temporary);
    throw;
  }
}

}  // namespace

std::vector<LocalCheckpoint> local_checkpoints(FileSystem& files, const std::string& directory,
                                               const std::string& basename) {
  std::vector<LocalCheckpoint> found;
  for (const std::string& prefix : list_checkpoints(files, directory, basename)) {
    const auto sidecar = read_sidecar(files, prefix);
    found.push_back({.name = base_name(prefix),
                     .unix_time = time_of(files, prefix, sidecar),
                     .is_pinned = sidecar && sidecar->pinned});
  }
  std::ranges::stable_sort(found, {}, &LocalCheckpoint::unix_time);
  return found;
}

std::optional<OpenCheckpoint> open_local(FileSystem& files, const std::string& directory,
                                         const LocalCheckpoint& checkpoint) {
  const std::string prefix = join_path(directory, checkpoint.name);
  const auto sidecar = read_sidecar(files, prefix);
  OpenCheckpoint opened{.described = {.checkpoint = checkpoint.name,
                                      .unix_time = time_of(files, prefix, sidecar),
                                      .is_pinned = sidecar && sidecar->pinned}};
  std::vector<ListedFile> listed = crochet::internal::list_files(files, directory);
  std::erase_if(listed, [&](const ListedFile& file) {
    return file.base != checkpoint.name || !is_stored(file);
  });
  std::stable_partition(listed.begin(), listed.end(),
                        [](const ListedFile& file) { return !file.is_index(); });
  try {
    for (const ListedFile& file : listed)
      opened.files.push_back({file.name, files.open(join_path(directory, file.name))});
  } catch (const NotFoundError&) {
    return std::nullopt;
  }
  // A checkpoint is removed from its index on, and written again up to its index: if the index is
  // still there, and the save is the same one, so was all of it.
  const bool is_there =
      !listed.empty() && listed.back().is_index() &&
      files.exists(join_path(directory, listed.back().name)) &&
      time_of(files, prefix, read_sidecar(files, prefix)) == opened.described.unix_time;
  return is_there ? std::optional(std::move(opened)) : std::nullopt;
}

void bring_back(Mirror& mirror, const Mirror::Copy& copy, FileSystem& files,
                const std::string& directory) {
  files.create_directories(directory);
  const std::string prefix = join_path(directory, copy.manifest->checkpoint);
  try {
    for (const MirroredFile& file : copy.manifest->files) {
      if (&file == &copy.manifest->files.back()) files.sync_directory(directory);
      bring_back(mirror, copy, file, files, join_path(directory, file.name));
    }
  } catch (...) {
    crochet::internal::remove_unless_published(files, prefix);
    throw;
  }
  files.sync_directory(directory);
  update_checkpoint_state(files, directory, prefix, {prefix});
}

}  // namespace crochet::inline v0::cloud::internal
