// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/listing.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {
namespace {

using internal::CheckpointDirectory;
using internal::FileRole;

bool is_of(const internal::ListedFile& file, int num_shards) {
  int value = 0;
  const char* const end = file.num_shards.data() + file.num_shards.size();
  const auto [stop, error] = std::from_chars(file.num_shards.data(), end, value);
  return error == std::errc() && stop == end && value == num_shards;
}

// Finds leftovers of killed saves among the names in a directory.
class Leftovers {
 public:
  Leftovers(FileSystem& files, const std::string& directory, const CheckpointBasename& basename,
            const FileName& latest_filename)
      : files_(files),
        directory_(directory),
        basename_(basename),
        latest_filename_(latest_filename),
        names_(internal::list_or_none(files, directory)) {
    for (internal::ListedFile& file : internal::files_among(names_)) {
      if (file.is_index()) indexes_.insert(file.name);
      if (file.is_data()) shard_counts_[file.base].insert(file.num_shards);
      files_of_checkpoints_.push_back(std::move(file));
    }
  }

  // Of checkpoints, and of the state file.
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const internal::ListedFile& file : files_of_checkpoints_)
      if (contains(file)) names.push_back(file.name);
    for (const std::string& name : names_)
      if (internal::is_temporary_state(name, latest_filename_.str())) names.push_back(name);
    return names;
  }

 private:
  bool contains(const internal::ListedFile& file) {
    if (!internal::parse_step(file.base, basename_.str())) return false;
    if (file.role == FileRole::kTemporary) return true;
    if (file.role == FileRole::kTemporaryDirectory) return true;
    if (file.is_index()) return false;
    const auto is_there = [&](const std::string& index) { return indexes_.contains(index); };
    if (std::ranges::none_of(internal::index_filenames(file.base), is_there)) return true;
    return file.is_data() && is_of_another_number(file);
  }
  // True for a data file of a checkpoint that was replaced by one with another number of data
  // files.
  bool is_of_another_number(const internal::ListedFile& file) {
    if (shard_counts_.at(file.base).size() < 2) return false;  // Without reading the index.
    if (indexes_.contains(internal::safetensors_index_filename(file.base))) return false;
    const std::optional<int> expected =
        internal::num_shards_of(files_, join_path(directory_, file.base));
    return expected && !is_of(file, *expected);
  }

  FileSystem& files_;
  const std::string& directory_;
  const CheckpointBasename& basename_;
  const FileName& latest_filename_;
  const std::vector<std::string> names_;  // All.
  std::vector<internal::ListedFile> files_of_checkpoints_;
  std::set<std::string> indexes_;
  std::map<std::string, std::set<std::string>> shard_counts_;
};

std::vector<std::string> leftovers_in(FileSystem& files, const std::string& directory,
                                      const CheckpointBasename& basename,
                                      const FileName& latest_filename) {
  Leftovers leftovers(files, directory, basename, latest_filename);
  std::vector<std::string> paths;
  for (const std::string& name : leftovers.names()) {
    std::string path = join_path(directory, name);
    if (name.ends_with(internal::kPartsSuffix) && is_directory(files, path))
      for (const std::string& part : files.list(path)) paths.push_back(join_path(path, part));
    paths.push_back(std::move(path));
  }
  return paths;
}

void remove_leftover(FileSystem& files, const std::string& path) {
  try {
    files.remove(path);
    log_debug(fmt::format("{}: removed leftover of an unfinished save", path));
  } catch (const Error& error) {
    log_warning(fmt::format("{}: leftover of an unfinished save cannot be removed: {}", path,
                            error.what()));
  }
}

}  // namespace

std::vector<std::string> list_leftovers(FileSystem& files, const std::string& directory,
                                        const CheckpointBasename& basename,
                                        const FileName& latest_filename) {
  auto found = CheckpointDirectory::find(files, directory);
  if (!found) return {};
  return leftovers_in(found->files(), directory, basename, latest_filename);
}

void remove_leftovers(FileSystem& files, const std::string& directory,
                      const CheckpointBasename& basename, const FileName& latest_filename) {
  auto found = CheckpointDirectory::find(files, directory);
  if (!found) return;
  Directory& held_open = found->files();
  const auto lock = internal::DirectoryLock::for_a_moment(files, directory, found->shared_files());
  if (!lock)
    throw FailedPreconditionError(fmt::format(
        "{}: leftovers of killed saves cannot be removed: another run holds the lock", directory));
  // A killed process may have changed names only in the system's memory. The checkpoint that it
  // published last must stay, and an index that it removed must not come back without its data.
  try {
    held_open.sync_directory(directory);
  } catch (const Error& error) {
    log_warning(fmt::format("{}: leftovers of killed saves are not removed now: {}", directory,
                            error.what()));
    return;
  }
  for (const std::string& name : leftovers_in(held_open, directory, basename, latest_filename))
    remove_leftover(held_open, name);
}

}  // namespace crochet::inline v0
