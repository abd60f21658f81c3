// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/torn_line.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <fmt/format.h>

namespace crochet::inline v0::internal {
namespace {

// More than any line: a longer one was not left by a killed run.
constexpr uint64_t kMaxTornBytes = uint64_t{64} << 20;

// The number of bytes up to and including the last newline; unset if the last line is longer than
// kMaxTornBytes.
std::optional<uint64_t> whole_lines_bytes(const ReadableFile& file) {
  constexpr uint64_t kBlockBytes = uint64_t{64} << 10;
  const uint64_t size = file.size();
  for (uint64_t end = size; end > 0;) {
    if (size - end >= kMaxTornBytes) return std::nullopt;
    const uint64_t begin = end - std::min(end, kBlockBytes);
    std::string block(end - begin, '\0');
    file.read_at(begin, std::as_writable_bytes(std::span(block)));
    const size_t newline = block.rfind('\n');
    if (newline != std::string::npos) return begin + newline + 1;
    end = begin;
  }
  return 0;
}

// True if one of our lines may begin like this; some file systems leave zeros after a power cut.
bool is_begin_of_line(std::string_view text, std::span<const std::string_view> begins) {
  return text.starts_with('\0') || std::ranges::any_of(begins, [&](std::string_view begin) {
           return begin.starts_with(text.substr(0, begin.size()));
         });
}

}  // namespace

TornLine cut_torn_line(FileSystem& files, const std::string& path,
                       std::span<const std::string_view> begins) {
  if (!files.exists(path)) return {};
  const std::unique_ptr<ReadableFile> file = files.open(path);
  const std::optional<uint64_t> whole_bytes = whole_lines_bytes(*file);
  if (!whole_bytes)
    return {"\n", fmt::format("{}: no line ends in the last {} bytes; they are left as they are",
                              path, kMaxTornBytes)};
  if (*whole_bytes == file->size()) return {};
  std::string begin(std::min<uint64_t>(16, file->size() - *whole_bytes), '\0');
  file->read_at(*whole_bytes, std::as_writable_bytes(std::span(begin)));
  if (!is_begin_of_line(begin, begins))
    return {"\n",
            fmt::format("{}: the last line is incomplete and not ours; it is left as it is", path)};
  files.truncate(path, *whole_bytes);
  return {};
}

}  // namespace crochet::inline v0::internal
