// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoint_files.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/internal/listing.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0 {
namespace {

// The files of a prefix that have one of these roles. (A data file that is also an index has that
// role.)
std::vector<std::string> files_of(FileSystem& files, const std::string& prefix,
                                  std::initializer_list<internal::FileRole> roles) {
  std::vector<std::string> paths;
  const std::string directory = directory_of(prefix);
  const std::string base = base_name(prefix);
  for (const internal::ListedFile& file : internal::list_files(files, directory))
    if (file.base == base && std::ranges::count(roles, file.role) > 0)
      paths.push_back(join_path(directory, file.name));
  return paths;
}

// Data files, for any number of them, and copies of the program's own files.
std::vector<std::string> files_beside_index(FileSystem& files, const std::string& prefix) {
  return files_of(files, prefix, {internal::FileRole::kData, internal::FileRole::kAttached});
}

bool remove_if_there(FileSystem& files, const std::string& path) {
  try {
    files.remove(path);
    return true;
  } catch (const NotFoundError&) {
    return false;
  }
}

// Synced before the data is removed: an index without data would be a damaged checkpoint.
void remove_indexes(FileSystem& files, const std::string& directory,
                    const std::vector<std::string>& paths) {
  bool removed = false;
  for (const std::string& path : paths)
    if (files.exists(path) && remove_if_there(files, path)) removed = true;
  if (removed) files.sync_directory(directory);
}

// The names of the checkpoint's index and data files.
std::set<std::string> names_of(const std::string& base, CheckpointFormat format, int num_shards) {
  std::set<std::string> names;
  const bool is_bundle = format == CheckpointFormat::kTensorBundle;
  if (is_bundle)
    names.insert(internal::index_filename(base));
  else if (num_shards == 1)
    return {internal::safetensors_filename(base)};
  else
    names.insert(internal::safetensors_index_filename(base));
  for (int shard = 0; shard < num_shards; ++shard)
    names.insert(is_bundle ? internal::data_filename(base, shard, num_shards)
                           : internal::safetensors_shard_filename(base, shard, num_shards));
  return names;
}

}  // namespace

std::vector<std::string> list_checkpoints(FileSystem& files, const std::string& directory,
                                          const CheckpointBasename& basename) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const internal::ListedFile& file : internal::list_files(files, directory)) {
    if (!file.is_index()) continue;
    if (const auto step = internal::parse_step(file.base, basename.str()))
      found.emplace_back(*step, join_path(directory, file.base));
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());  // One prefix in two formats.
  std::vector<std::string> prefixes;
  prefixes.reserve(found.size());
  for (auto& [step, prefix] : found) prefixes.push_back(std::move(prefix));
  return prefixes;
}

std::vector<double> get_checkpoint_mtimes(FileSystem& files,
                                          std::span<const std::string> prefixes) {
  std::vector<double> times;
  for (const std::string& prefix : prefixes)
    if (const auto time = internal::time_of_checkpoint(files, prefix)) times.push_back(*time);
  return times;
}

std::optional<double> internal::time_of_checkpoint(FileSystem& files, const std::string& prefix) {
  std::vector<std::string> paths = index_filenames(prefix);
  paths.push_back(prefix);
  for (const std::string& path : paths) {
    try {  // Another process may remove it at any time, so checking first would not help.
      return files.modified_time(path);
    } catch (const NotFoundError&) {
    }
  }
  return std::nullopt;
}

void remove_checkpoint(FileSystem& files, const std::string& prefix) {
  remove_if_there(files, prefix + ".meta");
  remove_indexes(files, directory_of(prefix), internal::index_filenames(prefix));
  for (const std::string& path : files_beside_index(files, prefix)) remove_if_there(files, path);
  remove_if_there(files, internal::sidecar_filename(prefix));
}

void internal::remove_replaced(FileSystem& files, const std::string& prefix,
                               CheckpointFormat format, int num_shards) {
  const std::string directory = directory_of(prefix);
  const std::set<std::string> own = names_of(base_name(prefix), format, num_shards);
  const auto is_own = [&](const std::string& path) { return own.contains(base_name(path)); };
  std::vector<std::string> indexes = internal::index_filenames(prefix);
  std::erase_if(indexes, is_own);
  remove_indexes(files, directory, indexes);
  // Not the copies of the program's files, which have replaced the others.
  for (const std::string& path : files_of(files, prefix, {FileRole::kData}))
    if (!is_own(path)) remove_if_there(files, path);
}

bool internal::remove_unless_published(FileSystem& files, const std::string& prefix) noexcept {
  try {
    if (checkpoint_exists(files, prefix)) return true;
    remove_checkpoint(files, prefix);
  } catch (const std::exception& error) {
    log(Severity::kWarning, error.what());
  }
  return false;
}

std::vector<std::string> internal::paths_of_checkpoint(FileSystem& files,
                                                       const std::string& prefix) {
  std::vector<std::string> paths = files_beside_index(files, prefix);
  paths.push_back(prefix + ".meta");
  std::ranges::move(internal::index_filenames(prefix), std::back_inserter(paths));
  paths.push_back(internal::sidecar_filename(prefix));
  return paths;
}

}  // namespace crochet::inline v0
