// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/event_file_reader.h"

#include <charconv>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0 {

std::optional<int64_t> event_file_seconds(std::string_view name) {
  if (!name.starts_with(kEventFilePrefix)) return std::nullopt;
  name.remove_prefix(kEventFilePrefix.size());
  const std::string_view digits = name.substr(0, name.find('.'));
  int64_t seconds = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  const bool is_number = result.ec == std::errc() && result.ptr == digits.data() + digits.size();
  // Ten digits, as in TensorFlow, which last until the year 2286.
  constexpr int64_t kEnd = 10'000'000'000;
  return is_number && seconds >= 0 && seconds < kEnd - 1 ? std::optional(seconds) : std::nullopt;
}

std::vector<std::string> event_files(FileSystem& files, const std::string& directory) {
  std::vector<std::string> paths;
  if (!files.exists(directory)) return paths;
  for (const std::string& name : files.list(directory))  // Sorted by name, hence by age.
    if (event_file_seconds(name)) paths.push_back(join_path(directory, name));
  return paths;
}

EventFileReader::EventFileReader(FileSystem& files, const std::string& path)
    : path_(path), file_(internal::open_untrusted_file(files, path)), records_(*file_, path) {}

std::optional<Event> EventFileReader::read() {
  const uint64_t offset = records_.offset();
  const auto record = records_.read();
  if (!record) return std::nullopt;
  try {
    return decode_event(*record);
  } catch (const DataLossError& error) {
    throw DataLossError(fmt::format("{}: record at offset {}: {}", path_, offset, error.what()));
  }
}

std::vector<Event> read_event_file(FileSystem& files, const std::string& path) {
  EventFileReader reader(files, path);
  std::vector<Event> events;
  while (auto event = reader.read()) events.push_back(*std::move(event));
  return events;
}

}  // namespace crochet::inline v0
