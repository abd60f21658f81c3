// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_start.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_kind.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"

namespace crochet::inline v0::internal {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// An index has its map after its metadata, which is at most this large in files of all writers.
constexpr uint64_t kMaxBeforeMapBytes = uint64_t{1} << 20;

std::string read_start(const ReadableFile& file, uint64_t max_bytes) {
  std::string bytes(std::min(file.size(), max_bytes), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

bool begins_with_brace(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  return first != std::string_view::npos && text[first] == '{';
}

uint64_t length_in(std::string_view start) {
  uint64_t length = 0;
  for (size_t i = kSafetensorsLengthBytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(start[i]);
  return length;
}

}  // namespace

uint64_t read_header_length(const ReadableFile& file, const std::string& path) {
  const uint64_t size = file.size();
  if (size < kSafetensorsLengthBytes)
    throw DataLossError(
        fmt::format("{}: found {} bytes, expected at least {} for the header's length", path, size,
                    kSafetensorsLengthBytes));
  const uint64_t length = length_in(read_start(file, kSafetensorsLengthBytes));
  const uint64_t most = std::min(kMaxSafetensorsHeaderBytes, size - kSafetensorsLengthBytes);
  if (length > most)
    throw DataLossError(
        fmt::format("{}: the header has {} bytes, expected at most {} in a file of {}", path,
                    length, most, size));
  return length;
}

bool is_json_file(const ReadableFile& file) {
  const std::string start = first_bytes(file);
  // The length of a header ends with zeros.
  return begins_with_brace(start) && start.find('\0') == std::string::npos;
}

bool is_safetensors_file(const ReadableFile& file) {
  if (is_json_file(file))
    return read_start(file, kMaxBeforeMapBytes).find("\"weight_map\"") != std::string::npos;
  const std::string start = first_bytes(file);
  if (start.size() <= kSafetensorsLengthBytes) return false;
  const uint64_t length = length_in(start);
  return length <= std::min(kMaxSafetensorsHeaderBytes, file.size() - kSafetensorsLengthBytes) &&
         begins_with_brace(std::string_view(start).substr(kSafetensorsLengthBytes));
}

}  // namespace crochet::inline v0::internal
