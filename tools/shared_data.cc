// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/shared_data.h"

#include <map>
#include <utility>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/stored_values.h"
#include "crochet/io/file_system.h"
#include "tools/text.h"

namespace crochet::tool {
namespace {

bool is_data(const std::string& path) {
  const auto file = internal::parse_checkpoint_filename(base_name(path));
  return file && file->role == internal::FileRole::kData;
}

}  // namespace

std::vector<SharedData> find_shared_data(FileSystem& files,
                                         std::span<const internal::FoundCheckpoint> checkpoints) {
  std::map<std::pair<uint64_t, double>, SharedData> by_file;
  for (const internal::FoundCheckpoint& each : checkpoints) {
    for (const std::string& path : internal::paths_of_checkpoint(files, each.prefix)) {
      if (!is_data(path)) continue;
      try {
        SharedData& data = by_file[{files.file_size(path), files.modified_time(path)}];
        data.path = path;
        data.checkpoints.push_back(each.prefix);
      } catch (const NotFoundError&) {  // A run has removed it meanwhile.
      }
    }
  }
  std::vector<SharedData> shared;
  for (auto& [key, data] : by_file)
    if (data.checkpoints.size() > 1) shared.push_back(std::move(data));
  return shared;
}

bool is_within_horizon(const SharedData& data) {
  return data.checkpoints.size() <= static_cast<size_t>(internal::kMaxSharing);
}

std::string to_line(const SharedData& data) {
  std::vector<std::string> names;
  for (const std::string& prefix : data.checkpoints) names.push_back(printable(base_name(prefix)));
  return fmt::format("{}: {} checkpoints share this file: {}{}", printable(data.path), names.size(),
                     fmt::join(names, ", "),
                     is_within_horizon(data)
                         ? ""
                         : fmt::format("; a run lets at most {} share one", internal::kMaxSharing));
}

}  // namespace crochet::tool
