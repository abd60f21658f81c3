// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint_argument.h"

#include <span>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/io/path.h"
#include "tools/found_checkpoint.h"

namespace crochet::tool {
namespace {

// The maximum number of names that a message lists.
constexpr size_t kMaxListed = 8;

std::string listed(const std::vector<std::string>& names) {
  if (names.size() <= kMaxListed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(std::span(names).first(kMaxListed), ", "),
                     names.size() - kMaxListed);
}

std::string newest_in(FileSystem& files, const std::string& directory) {
  const std::vector<FoundCheckpoint> found = find_checkpoints(files, directory);
  if (found.empty())
    throw NotFoundError(fmt::format("{}: no checkpoint in this directory", directory));
  if (auto newest = newest_of(files, directory, found)) return *std::move(newest);
  std::vector<std::string> names;
  for (const FoundCheckpoint& each : found) names.push_back(base_name(each.prefix));
  throw InvalidArgumentError(
      fmt::format("{}: found several checkpoints, name one: {}", directory, listed(names)));
}

// The checkpoints in the directory whose names begin like this one.
std::vector<std::string> similar_names(FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  const std::string directory = directory_of(path);
  if (!directory.empty() && !is_directory(files, directory)) return names;
  for (const FoundCheckpoint& each : find_checkpoints(files, directory))
    if (base_name(each.prefix).starts_with(base_name(path)))
      names.push_back(base_name(each.prefix));
  return names;
}

[[noreturn]] void throw_no_checkpoint(FileSystem& files, const std::string& path) {
  const std::vector<std::string> similar = similar_names(files, path);
  if (!similar.empty())
    throw NotFoundError(fmt::format("{}: no such checkpoint; found {}", path, listed(similar)));
  if (files.exists(path)) throw NotFoundError(fmt::format("{}: not a file of a checkpoint", path));
  throw NotFoundError(fmt::format("{}: no such checkpoint, file or directory", path));
}

}  // namespace

std::optional<std::string> directory_argument(FileSystem& files, const std::string& path) {
  if (!path.ends_with('/') && format_of(files, path)) return std::nullopt;  // A prefix.
  if (is_directory(files, path)) return path;
  if (base_name(path) == "checkpoint" && files.exists(path)) return directory_of(path);
  return std::nullopt;
}

std::string checkpoint_argument(FileSystem& files, const std::string& path) {
  if (const auto directory = directory_argument(files, path)) return newest_in(files, *directory);
  const std::string name = base_name(path);
  const auto file = internal::parse_checkpoint_filename(name);
  const auto format = format_of(files, path);
  if (format && !file) return path;
  if (!file || file->base.empty() || !files.exists(path)) throw_no_checkpoint(files, path);
  const std::string prefix = join_path(directory_of(path), file->base);
  const auto format_of_prefix = format_of(files, prefix);
  // The path of a safetensors file means that file, even if a run would prefer a bundle of its
  // name.
  if (format && format != format_of_prefix) return path;
  if (!format_of_prefix)
    throw NotFoundError(
        fmt::format("{}: not a checkpoint: there is no {}", path, index_filename(prefix)));
  return prefix;
}

}  // namespace crochet::tool
