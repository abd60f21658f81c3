// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/metric_lines.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/untrusted_file.h"
#include "crochet/summary/internal/json_lines_writer.h"

namespace crochet::inline v0::internal {
namespace {

using nlohmann::json;
using Points = std::map<int64_t, Metrics>;

// A line of one of our writers is shorter, unless it has many histograms.
constexpr size_t kMaxLineBytes = size_t{16} << 20;
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

std::optional<int64_t> integer(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<int64_t>();
}

std::optional<double> number(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto* const name = value.get_ptr<const std::string*>();
  if (name == nullptr) return std::nullopt;
  if (*name == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (*name == "Infinity") return std::numeric_limits<double>::infinity();
  if (*name == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

void read_line(const json& line, Points& points) {
  if (!line.is_object()) return;
  if (const auto resumed_at = integer(line, "resumed_at"))
    points.erase(points.upper_bound(*resumed_at), points.end());
  const auto step = integer(line, "step");
  if (!step) return;
  for (const auto& [tag, value] : line.items())
    if (tag != "step" && tag != "time")
      if (const auto found = number(value)) points[*step][tag] = *found;
}

void read_line(std::string_view text, const std::string& path, Points& points) {
  try {
    JsonTree tree;
    parse_json(text, path, tree);
    read_line(tree.root, points);
  } catch (const DataLossError&) {  // Not one of our lines.
  }
}

}  // namespace

Points read_metric_lines(FileSystem& files, const std::string& directory) {
  const std::string path = join_path(directory, kJsonLinesName);
  Points points;
  if (!files.exists(path)) return points;
  const auto file = open_untrusted_file(files, path);
  std::string rest;
  for (uint64_t offset = 0; offset < file->size(); offset += kBlockBytes) {
    std::string block(std::min(kBlockBytes, file->size() - offset), '\0');
    file->read_at(offset, std::as_writable_bytes(std::span(block)));
    rest += block;
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      read_line(std::string_view(rest).substr(begin, end - begin), path, points);
    rest.erase(0, begin);
    if (rest.size() > kMaxLineBytes) rest.clear();
  }
  return points;
}

}  // namespace crochet::inline v0::internal
