// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/fallback_record.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/listing.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kSuffix = ".fallback";

std::string unused_path(const std::string& save_path) {
  return fmt::format("{}{}", save_path, kSuffix);
}
std::string used_path(const std::string& save_path, int64_t step) {
  return fmt::format("{}{}-{}", save_path, kSuffix, step);
}

// The step of "<basename>.fallback-<step>".
std::optional<int64_t> step_of(std::string_view name, std::string_view basename) {
  const std::string start = fmt::format("{}{}-", basename, kSuffix);
  if (!name.starts_with(start)) return std::nullopt;
  name.remove_prefix(start.size());
  int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return step;
}

std::optional<int64_t> used_step(FileSystem& files, const std::string& save_path) {
  std::optional<int64_t> newest;
  for (const std::string& name : list_or_none(files, directory_of(save_path)))
    if (const auto step = step_of(name, base_name(save_path))) newest = std::max(newest, step);
  return newest;
}

// Calls `change` with the run's directory, wherever its path leads now.
template <typename Change>
void try_to(FileSystem& files, const std::string& save_path, const Change& change) {
  try {
    const auto directory = CheckpointDirectory::find(files, directory_of(save_path));
    if (!directory)
      throw NotFoundError(fmt::format("{}: no such directory", directory_of(save_path)));
    change(directory->files());
    directory->files().sync_directory(directory->path());
  } catch (const Error& error) {
    log_warning(
        fmt::format("{}: whether the fallback directory has newer checkpoints cannot be "
                    "recorded: {}",
                    directory_of(save_path), error.what()));
  }
}

}  // namespace

bool is_fallback_record(std::string_view name) {
  const size_t place = name.rfind(kSuffix);
  if (place == std::string_view::npos || place == 0) return false;
  return name.substr(place) == kSuffix || step_of(name, name.substr(0, place));
}

std::optional<FallbackUse> find_fallback_use(FileSystem& files, const std::string& save_path) {
  const auto step = used_step(files, save_path);
  if (!step) return std::nullopt;
  FallbackUse use{.path = used_path(save_path, *step), .directory = "", .step = *step};
  use.directory = read_file(files, use.path);
  return use;
}

void prepare_fallback_record(FileSystem& files, const std::string& save_path,
                             const std::string& fallback_dir) {
  try_to(files, save_path, [&](FileSystem& own) {
    const std::string path = unused_path(save_path);
    if (used_step(own, save_path)) return;
    if (!own.exists(path) || read_file(own, path) != fallback_dir)
      replace_file(own, path, fallback_dir);
  });
}

void record_fallback_use(FileSystem& files, const std::string& save_path,
                         const std::string& fallback_dir, int64_t step) {
  try_to(files, save_path, [&](FileSystem& own) {
    const std::string path = used_path(save_path, step);
    const std::string unused = unused_path(save_path);
    if (const auto earlier = used_step(own, save_path)) {
      if (*earlier != step) own.rename(used_path(save_path, *earlier), path);
    } else if (own.exists(unused)) {
      own.rename(unused, path);
    } else {
      replace_file(own, path, fallback_dir);
    }
  });
}

void clear_fallback_use(FileSystem& files, const std::string& save_path) {
  try_to(files, save_path, [&](FileSystem& own) {
    if (const auto step = used_step(own, save_path))
      own.rename(used_path(save_path, *step), unused_path(save_path));
  });
}

}  // namespace crochet::inline v0::internal
