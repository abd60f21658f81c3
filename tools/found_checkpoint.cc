// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/found_checkpoint.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/checkpoint_filename.h"
#include "crochet/checkpoint/checkpoint_files.h"
#include "crochet/checkpoint/checkpoint_history.h"
#include "crochet/checkpoint/checkpoint_state.h"
#include "crochet/io/path.h"

namespace crochet::tool {
namespace {

using internal::CheckpointPart;

// What the files of one base are, of those that count.
struct Parts {
  bool has_index = false;
  bool has_data = false;
  uint64_t size_bytes = 0;
};

uint64_t size_or_none(FileSystem& files, const std::string& path) {
  try {
    return files.file_size(path);
  } catch (const NotFoundError&) {
    return 0;  // A run may remove it at any time.
  }
}

// By base; of one base only, if it is given.
std::map<std::string, Parts> parts_in(FileSystem& files, const std::string& directory,
                                      const std::optional<std::string>& base = {}) {
  std::map<std::string, Parts> found;
  for (const std::string& name : files.list(directory)) {
    const auto file = internal::parse_checkpoint_filename(name);
    if (!file || (base && file->base != *base)) continue;
    const bool is_index = file->part == CheckpointPart::kIndex;
    const bool is_data = file->part == CheckpointPart::kData;
    if (!is_index && !is_data) continue;
    Parts& parts = found[std::string(file->base)];
    parts.has_index = parts.has_index || is_index;
    parts.has_data = parts.has_data || is_data;
    parts.size_bytes += size_or_none(files, join_path(directory, name));
  }
  return found;
}

std::string without_step(const std::string& base) {
  return internal::step_of_prefix(base) ? base.substr(0, base.rfind('-')) : base;
}

FoundCheckpoint describe_found(FileSystem& files, const std::string& prefix, uint64_t size_bytes) {
  FoundCheckpoint found{.prefix = prefix, .basename = without_step(base_name(prefix))};
  found.size_bytes = size_bytes;
  found.step = internal::step_of_prefix(base_name(prefix));
  found.sidecar = read_sidecar(files, prefix);
  if (!found.step && found.sidecar && found.sidecar->step >= 0) found.step = found.sidecar->step;
  const std::vector<double> times = get_checkpoint_mtimes(files, {&prefix, 1});
  found.unix_time = times.empty() ? std::numeric_limits<double>::quiet_NaN() : times.front();
  if (found.sidecar && found.sidecar->unix_time > 0) found.unix_time = found.sidecar->unix_time;
  return found;
}

std::optional<std::string> basename_in_state(FileSystem& files, const std::string& directory) {
  try {
    if (const auto state = get_checkpoint_state(files, directory))
      return without_step(base_name(state->model_checkpoint_path));
  } catch (const Error& error) {
    log_warning("{}", error.what());
  }
  return std::nullopt;
}

}  // namespace

FoundCheckpoint look_at_checkpoint(FileSystem& files, const std::string& prefix) {
  const std::string base = base_name(prefix);
  const std::string directory = directory_of(prefix);
  return describe_found(files, prefix, parts_in(files, directory, base)[base].size_bytes);
}

std::vector<FoundCheckpoint> find_checkpoints(FileSystem& files, const std::string& directory) {
  std::vector<FoundCheckpoint> found;
  for (const auto& [base, parts] : parts_in(files, directory))
    if (parts.has_index && (parts.has_data || internal::step_of_prefix(base)))
      found.push_back(describe_found(files, join_path(directory, base), parts.size_bytes));
  std::ranges::sort(found, {}, [](const FoundCheckpoint& each) {
    return std::tie(each.basename, each.step, each.prefix);
  });
  return found;
}

std::optional<std::string> newest_of(FileSystem& files, const std::string& directory,
                                     const std::vector<FoundCheckpoint>& found) {
  std::set<std::string> basenames;
  for (const FoundCheckpoint& each : found) basenames.insert(each.basename);
  if (basenames.size() > 1) {
    const auto named = basename_in_state(files, directory);
    if (!named || !basenames.contains(*named)) return std::nullopt;
    basenames = {*named};
  }
  std::optional<std::string> newest;
  for (const FoundCheckpoint& each : found)
    if (basenames.contains(each.basename)) newest = each.prefix;  // In the order of steps.
  return newest;
}

}  // namespace crochet::tool
