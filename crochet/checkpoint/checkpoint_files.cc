// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/bundle_format.h"
#include "crochet/checkpoint/checkpoint_filename.h"
#include "crochet/checkpoint/checkpoint_sidecar.h"
#include "crochet/checkpoint/safetensors_format.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

using internal::CheckpointPart;

std::vector<std::string> list_or_none(FileSystem& files, const std::string& directory) {
  try {
    return files.list(directory);
  } catch (const NotFoundError&) {
    return {};
  }
}

// What makes a checkpoint, in the order in which readers look for it.
std::vector<std::string> index_filenames(const std::string& prefix) {
  return {index_filename(prefix), safetensors_filename(prefix), safetensors_index_filename(prefix)};
}

// The data files of a prefix beside those with an index's name, whatever their number.
std::vector<std::string> data_files(FileSystem& files, const std::string& prefix) {
  std::vector<std::string> paths;
  const std::string directory = directory_of(prefix);
  const std::string base = base_name(prefix);
  for (const std::string& name : list_or_none(files, directory)) {
    const auto file = internal::parse_checkpoint_filename(name);
    if (file && file->part == CheckpointPart::kData && file->base == base)
      paths.push_back(join_path(directory, name));
  }
  return paths;
}

bool remove_if_there(FileSystem& files, const std::string& path) {
  try {
    files.remove(path);
    return true;
  } catch (const NotFoundError&) {
    return false;
  }
}

bool is_leftover(const std::string& name, const std::string& basename,
                 const std::set<std::string>& names) {
  if (internal::is_temporary_state(name)) return true;
  const auto file = internal::parse_checkpoint_filename(name);
  if (!file || !internal::parse_step(file->base, basename)) return false;
  if (file->part == CheckpointPart::kTemporary) return true;
  if (file->part == CheckpointPart::kIndex) return false;
  const auto is_there = [&](const std::string& index) { return names.contains(index); };
  return std::ranges::none_of(index_filenames(std::string(file->base)), is_there);
}

// Made sure of before the data goes: an index without data would be a damaged checkpoint.
void remove_indexes(FileSystem& files, const std::string& directory,
                    const std::vector<std::string>& paths) {
  bool removed = false;
  for (const std::string& path : paths)
    if (files.exists(path) && remove_if_there(files, path)) removed = true;
  if (removed) files.sync_directory(directory);
}

// The names of the checkpoint's own files: the one that makes it a checkpoint, and the data's.
std::set<std::string> names_of(const std::string& base, CheckpointFormat format, int num_shards) {
  std::set<std::string> names;
  const bool is_bundle = format == CheckpointFormat::kTensorBundle;
  if (is_bundle)
    names.insert(index_filename(base));
  else if (num_shards == 1)
    return {safetensors_filename(base)};
  else
    names.insert(safetensors_index_filename(base));
  for (int shard = 0; shard < num_shards; ++shard)
    names.insert(is_bundle ? data_filename(base, shard, num_shards)
                           : safetensors_shard_filename(base, shard, num_shards));
  return names;
}

// A suffix that none of the files has yet.
std::string free_suffix(FileSystem& files, const std::vector<std::string>& paths) {
  std::string suffix = ".damaged";
  for (int i = 2;; ++i) {
    const auto taken = [&](const std::string& path) { return files.exists(path + suffix); };
    if (std::ranges::none_of(paths, taken)) return suffix;
    suffix = fmt::format(".damaged-{}", i);
  }
}

}  // namespace

bool checkpoint_exists(FileSystem& files, const std::string& prefix) {
  const auto is_there = [&](const std::string& path) { return files.exists(path); };
  return std::ranges::any_of(index_filenames(prefix), is_there) || files.exists(prefix);
}

std::vector<std::string> list_checkpoints(FileSystem& files, const std::string& directory,
                                          const std::string& basename) {
  std::vector<std::pair<int64_t, std::string>> found;
  for (const std::string& name : list_or_none(files, directory)) {
    const auto file = internal::parse_checkpoint_filename(name);
    if (!file || file->part != CheckpointPart::kIndex) continue;
    if (const auto step = internal::parse_step(file->base, basename))
      found.emplace_back(*step, join_path(directory, file->base));
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());  // Two formats of one prefix.
  std::vector<std::string> prefixes;
  prefixes.reserve(found.size());
  for (auto& [step, prefix] : found) prefixes.push_back(std::move(prefix));
  return prefixes;
}

std::vector<double> get_checkpoint_mtimes(FileSystem& files,
                                          std::span<const std::string> prefixes) {
  std::vector<double> times;
  for (const std::string& prefix : prefixes) {
    std::vector<std::string> paths = index_filenames(prefix);
    paths.push_back(prefix);
    for (const std::string& path : paths) {
      try {  // Another process may remove it at any time: there is no asking before.
        times.push_back(files.modified_time(path));
        break;
      } catch (const NotFoundError&) {
      }
    }
  }
  return times;
}

void remove_checkpoint(FileSystem& files, const std::string& prefix) {
  remove_if_there(files, prefix + ".meta");
  remove_indexes(files, directory_of(prefix), index_filenames(prefix));
  for (const std::string& path : data_files(files, prefix)) remove_if_there(files, path);
  remove_if_there(files, sidecar_filename(prefix));
}

std::vector<std::string> list_leftovers(FileSystem& files, const std::string& directory,
                                        const std::string& basename) {
  const std::vector<std::string> listed = list_or_none(files, directory);
  const std::set<std::string> names(listed.begin(), listed.end());
  std::vector<std::string> paths;
  for (const std::string& name : listed)
    if (is_leftover(name, basename, names)) paths.push_back(join_path(directory, name));
  return paths;
}

void remove_leftovers(FileSystem& files, const std::string& directory,
                      const std::string& basename) {
  for (const std::string& path : list_leftovers(files, directory, basename)) {
    try {
      files.remove(path);
      log_info("{}: removed; a save that did not finish left it", path);
    } catch (const Error& error) {
      log_warning("{}: left by a save that did not finish, cannot be removed: {}", path,
                  error.what());
    }
  }
}

void remove_replaced(FileSystem& files, const std::string& prefix, CheckpointFormat format,
                     int num_shards) {
  const std::string directory = directory_of(prefix);
  const std::set<std::string> own = names_of(base_name(prefix), format, num_shards);
  const auto is_own = [&](const std::string& path) { return own.contains(base_name(path)); };
  std::vector<std::string> indexes = index_filenames(prefix);
  std::erase_if(indexes, is_own);
  remove_indexes(files, directory, indexes);
  for (const std::string& path : data_files(files, prefix))
    if (!is_own(path)) remove_if_there(files, path);
}

std::string set_aside(FileSystem& files, const std::string& prefix) {
  // The index first: without it the checkpoint is no longer there.
  std::vector<std::string> paths = index_filenames(prefix);
  std::ranges::move(data_files(files, prefix), std::back_inserter(paths));
  paths.push_back(sidecar_filename(prefix));
  paths.push_back(prefix + ".meta");
  std::string suffix = free_suffix(files, paths);
  for (const std::string& path : paths)
    if (files.exists(path)) files.rename(path, path + suffix);
  files.sync_directory(directory_of(prefix));
  log_warning("{}: the files of this damaged checkpoint now end in {}", prefix, suffix);
  return suffix;
}

}  // namespace crochet
