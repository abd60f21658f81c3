// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/fast_place.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/random.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/directory/internal/listing.h"
#include "crochet/checkpoint/directory/internal/own_files.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/directory_lock.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kRecordSuffix = ".fast";
constexpr std::string_view kLifeSuffix = ".life";
// Of a record; larger ones are a stranger's.
constexpr uint64_t kMaxBytes = 8192;

std::string record_path(const std::string& save_path) {
  return fmt::format("{}{}", save_path, kRecordSuffix);
}
std::string life_path(const std::string& save_path, const std::string& place) {
  return join_path(place, fmt::format("{}{}", base_name(save_path), kLifeSuffix));
}

// The lines of a small file; none if there is no such file.
std::vector<std::string> lines_of(FileSystem& files, const std::string& path) {
  std::vector<std::string> lines;
  try {
    if (!files.exists(path) || files.file_size(path) > kMaxBytes) return lines;
    const std::string text = read_file(files, path);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  } catch (const NotFoundError&) {  // Removed meanwhile.
    lines.clear();
  }
  return lines;
}

struct Record {
  std::string place;
  std::string life;
};

std::optional<Record> read_record(FileSystem& files, const std::string& save_path) {
  const std::vector<std::string> lines = lines_of(files, record_path(save_path));
  if (lines.size() != 2 || lines[0].empty() || lines[1].empty()) return std::nullopt;
  return Record{.place = lines[0], .life = lines[1]};
}

void log_left(const Record& record) {
  log_info(fmt::format("the run continues without {}: what is there can be removed", record.place));
}

bool is_valid(FileSystem& files, const std::string& save_path, const Record& record) {
  const std::vector<std::string> lives = lines_of(files, life_path(save_path, record.place));
  return std::ranges::find(lives, record.life) != lives.end();
}

// Their memory is needed.
void remove_set_aside(FileSystem& files, const std::string& save_path, const std::string& place) {
  const std::string start = base_name(save_path) + "-";
  for (const std::string& name : list_or_none(files, place)) {
    const bool is_kept = name.find(".replaced") != std::string::npos;  // It was pinned.
    if (name.starts_with(start) && own_file(name) == OwnFile::kSetAside && !is_kept)
      files.remove(join_path(place, name));
  }
}

void remove_all(FileSystem& files, const std::string& save_path, const std::string& place) {
  auto directory = CheckpointDirectory::find(files, place);
  if (!directory) return;
  const auto list = [&] { return list_checkpoints(files, place, base_name(save_path)); };
  directory->remove(list());
  if (const std::vector<std::string> left = list(); !left.empty())
    throw FailedPreconditionError(fmt::format(
        "{} does not belong to the run, and is not removed: move it away", left.front()));
}

void drop_record(FileSystem& files, const std::string& save_path) {
  const std::string path = record_path(save_path);
  try {
    if (!files.exists(path)) return;
    files.remove(path);
    files.sync_directory(directory_of(path));
  } catch (const Error& error) {
    log_warning(fmt::format("{} cannot be removed: {}", path, error.what()));
  }
}

}  // namespace

std::string fast_place_of(const std::string& fast_dir, const std::string& directory) {
  return join_path(fast_dir, fmt::format("{}-{:08x}", base_name(directory), crc32c(directory)));
}

std::optional<std::string> find_fast_place(FileSystem& files, const std::string& save_path) {
  try {
    const auto record = read_record(files, save_path);
    if (record && is_valid(files, save_path, *record)) return record->place;
  } catch (const Error& error) {
    log_warning(fmt::format("the fast directory cannot be searched: {}", error.what()));
  }
  return std::nullopt;
}

std::optional<FoundCheckpoint> newer_in_fast_place(FileSystem& files, const std::string& directory,
                                                   std::optional<int64_t> step) {
  std::optional<FoundCheckpoint> newest;
  for (const std::string& name : list_or_none(files, directory)) {
    if (!name.ends_with(kRecordSuffix) || name.starts_with('.')) continue;
    const std::string basename = name.substr(0, name.size() - kRecordSuffix.size());
    const auto place = find_fast_place(files, join_path(directory, basename));
    if (!place) continue;
    const std::vector<std::string> prefixes = list_checkpoints(files, *place, basename);
    if (prefixes.empty()) continue;
    FoundCheckpoint found = look_at_checkpoint(files, prefixes.back());
    if (found.step > (newest ? newest->step : step)) newest = std::move(found);
  }
  return newest;
}

bool is_fast_record(std::string_view name) {
  return (name.ends_with(kRecordSuffix) && name.size() > kRecordSuffix.size()) ||
         (name.ends_with(kLifeSuffix) && name.size() > kLifeSuffix.size());
}

void claim_fast_place(FileSystem& files, const std::string& save_path, const std::string& place) {
  const auto record = read_record(files, save_path);
  const bool continues = record && record->place == place && is_valid(files, save_path, *record);
  if (record && record->place != place) log_left(*record);
  remove_set_aside(files, save_path, place);
  if (!continues) remove_all(files, save_path, place);
  const std::string life = fmt::format("{:016x}", random_number());
  // Both lives, until the record names the new one: a kill in between loses nothing.
  replace_file(files, life_path(save_path, place),
               continues ? fmt::format("{}\n{}\n", record->life, life) : life + "\n");
  replace_file(files, record_path(save_path), fmt::format("{}\n{}\n", place, life));
}

void empty_fast_place(FileSystem& files, const std::string& save_path, const std::string& place) {
  drop_record(files, save_path);
  remove_all(files, save_path, place);
}

void drop_unused_fast_place(FileSystem& files, const std::string& save_path) {
  try {
    if (const auto record = read_record(files, save_path)) {
      if (DirectoryLock::held_here(files, record->place)) return;
      log_left(*record);
    }
  } catch (const Error& error) {
    log_warning(fmt::format("{} cannot be read: {}", record_path(save_path), error.what()));
  }
  drop_record(files, save_path);
}

}  // namespace crochet::inline v0::internal
