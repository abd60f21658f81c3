// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/any_format/internal/file_format.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/directory/internal/listing.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {
namespace {

static_assert(CheckpointFormat::kTensorBundle < CheckpointFormat::kSafetensors,
              "of two formats, the one that readers prefer comes first");

// The files of one base name in one format.
struct Files {
  bool has_index = false;
  bool has_data = false;
  uint64_t size_bytes = 0;
};
// By base name and format.
using AllFiles = std::map<std::pair<std::string, CheckpointFormat>, Files>;

uint64_t size_or_none(FileSystem& files, const std::string& path) {
  try {
    return files.file_size(path);
  } catch (const NotFoundError&) {
    return 0;  // A run may remove the file at any time.
  }
}

// Restricted to one base name, if it is given.
AllFiles files_in(FileSystem& files, const std::string& directory,
                  const std::optional<std::string>& base = {}) {
  AllFiles found;
  for (const ListedFile& file : list_files(files, directory)) {
    if (base && file.base != *base) continue;
    if (!file.is_index() && !file.is_data()) continue;
    Files& its = found[{file.base, file.format()}];
    its.has_index = its.has_index || file.is_index();
    its.has_data =
        its.has_data || file.is_data() || file.format() == CheckpointFormat::kSafetensors;
    its.size_bytes += size_or_none(files, join_path(directory, file.name));
  }
  return found;
}

// A file of another program that is named like a sidecar has none of these fields.
bool is_ours(const CheckpointSidecar& sidecar) {
  return sidecar.index_crc32c != 0 || sidecar.unix_time > 0 || sidecar.pinned;
}

std::string without_step(const std::string& base) {
  return step_of_prefix(base) ? base.substr(0, base.rfind('-')) : base;
}

FoundCheckpoint describe_found(FileSystem& files, const std::string& prefix,
                               CheckpointFormat format, uint64_t size_bytes) {
  FoundCheckpoint found{
      .prefix = prefix, .format = format, .basename = without_step(base_name(prefix))};
  found.size_bytes = size_bytes;
  found.step = step_of_prefix(base_name(prefix));
  found.sidecar = read_sidecar(files, prefix);
  if (found.sidecar && !is_ours(*found.sidecar)) found.sidecar.reset();
  if (!found.step && found.sidecar && found.sidecar->step >= 0) found.step = found.sidecar->step;
  found.unix_time =
      time_of_checkpoint(files, prefix).value_or(std::numeric_limits<double>::quiet_NaN());
  if (found.sidecar && found.sidecar->unix_time > 0) found.unix_time = found.sidecar->unix_time;
  return found;
}

std::optional<std::string> basename_in_state(FileSystem& files, const std::string& directory) {
  try {
    if (const auto state = get_checkpoint_state(files, directory))
      return without_step(base_name(state->model_checkpoint_path));
  } catch (const Error& error) {
    log_warning(error.what());
  }
  return std::nullopt;
}

}  // namespace

std::optional<CheckpointFormat> format_of(FileSystem& files, const std::string& prefix) {
  if (files.exists(index_filename(prefix))) return CheckpointFormat::kTensorBundle;
  const auto is_there = [&](const std::string& path) {
    return files.exists(path) && !is_directory(files, path);
  };
  if (is_there(safetensors_filename(prefix)) || is_there(safetensors_index_filename(prefix)))
    return CheckpointFormat::kSafetensors;
  return format_of_file(files, prefix);
}

FoundCheckpoint look_at_checkpoint(FileSystem& files, const std::string& prefix) {
  const auto format = format_of(files, prefix).value_or(CheckpointFormat::kTensorBundle);
  const std::string base = base_name(prefix);
  const AllFiles all = files_in(files, directory_of(prefix), base);
  const auto own = all.find({base, format});
  const uint64_t size_bytes =
      own != all.end() ? own->second.size_bytes : size_or_none(files, prefix);
  return describe_found(files, prefix, format, size_bytes);
}

std::vector<FoundCheckpoint> find_checkpoints(FileSystem& files, const std::string& directory) {
  std::vector<FoundCheckpoint> found;
  for (const auto& [key, its] : files_in(files, directory)) {
    const auto& [base, format] = key;
    if (!its.has_index || !(its.has_data || step_of_prefix(base))) continue;
    const std::string prefix = join_path(directory, base);
    if (!found.empty() && found.back().prefix == prefix) continue;  // The bundle precedes it.
    found.push_back(describe_found(files, prefix, format, its.size_bytes));
  }
  std::ranges::sort(found, {}, [](const FoundCheckpoint& each) {
    return std::tie(each.basename, each.step, each.prefix);
  });
  return found;
}

std::vector<FoundCheckpoint> of_one_run(FileSystem& files, const std::string& directory,
                                        std::vector<FoundCheckpoint> found) {
  if (found.empty() || found.front().basename == found.back().basename) return found;
  const auto named = basename_in_state(files, directory);
  std::erase_if(found, [&](const FoundCheckpoint& each) { return each.basename != named; });
  return found;
}

}  // namespace crochet::inline v0::internal
