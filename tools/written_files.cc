// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/written_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "crochet/base/internal/parse_json.h"
#include "crochet/checkpoint/directory/internal/own_files.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::tool {
namespace {

constexpr std::string_view kCurves = "metrics.jsonl";

bool is_index(std::string_view name) {
  const auto parsed = internal::parse_checkpoint_filename(name);
  return parsed && parsed->role == internal::FileRole::kIndex &&
         internal::step_of_prefix(parsed->base);
}

bool is_measured(std::string_view tag) {
  return tag == "time" || tag == "step" || tag.ends_with("/sec") || tag.starts_with("checkpoint/");
}

}  // namespace

WrittenFiles written_files(const std::string& folder) {
  WrittenFiles found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    const std::filesystem::path path = entry.path().lexically_relative(folder);
    const std::string name = path.filename();
    if (is_index(name))
      found.runs.insert(path.has_parent_path() ? path.parent_path().string() : ".");
    if (name == kCurves)
      found.curves.insert(path);
    else if (internal::own_file(name) == internal::OwnFile::kNone)
      found.files.insert(path);
  }
  return found;
}

bool have_same_bytes(const std::string& a, const std::string& b) {
  FileSystem& files = FileSystem::posix();
  return files.file_size(a) == files.file_size(b) && read_file(files, a) == read_file(files, b);
}

std::map<std::pair<int64_t, std::string>, std::string> read_curves(const std::string& path) {
  std::map<std::pair<int64_t, std::string>, std::string> values;
  const std::string text = read_file(FileSystem::posix(), path);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    internal::JsonTree tree;
    internal::parse_json(std::string_view(text).substr(begin, end - begin), path, tree);
    const nlohmann::json& line = tree.root;
    begin = end + 1;
    if (line.contains("resumed_at"))
      values.erase(values.upper_bound({line["resumed_at"].get<int64_t>() + 1, ""}), values.end());
    else if (line.contains("step"))
      for (const auto& [tag, value] : line.items())
        if (!is_measured(tag)) values[{line["step"].get<int64_t>(), tag}] = value.dump();
  }
  return values;
}

}  // namespace crochet::tool
