// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/journal/internal/read_journal.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/parse_json.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

// Twice the longest line: its texts are cut.
constexpr uint64_t kTailBytes = uint64_t{128} << 10;

using Object = nlohmann::json;

std::optional<double> number_of(const Object& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> count_of(const Object& object, const char* key) {
  const auto number = number_of(object, key);
  if (!number || *number < 0 || *number > static_cast<double>(kMaxCount)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

// A field that each event has.
bool is_stamp(std::string_view key) {
  constexpr std::string_view kStamp[] = {"event", "life", "step", "time", "steady"};
  return std::ranges::find(kStamp, key) != std::end(kStamp);
}

void add_field(const std::string& key, const Object& value, JournalEntry& entry) {
  if (value.is_string()) {
    entry.texts[key] = value.get<std::string>();
  } else if (value.is_boolean()) {
    entry.numbers[key] = value.get<bool>() ? 1 : 0;
  } else if (value.is_number()) {
    entry.numbers[key] = value.get<double>();
  } else if (value.is_array()) {
    std::string& text = entry.texts[key];
    for (const Object& each : value) {
      if (!each.is_string()) continue;
      if (!text.empty()) text += ' ';
      text += each.get<std::string>();
    }
  }
}

// Unset for what is not an event.
std::optional<JournalEntry> parse_line(std::string_view line, const std::string& path) {
  JsonTree tree;
  try {
    parse_json(line, path, tree);
  } catch (const DataLossError&) {
    return std::nullopt;
  }
  const Object& object = tree.root;
  if (!object.is_object()) return std::nullopt;
  const auto event = object.find("event");
  const auto life = count_of(object, "life");
  const auto step = count_of(object, "step");
  const auto time = number_of(object, "time");
  const auto steady = number_of(object, "steady");
  if (event == object.end() || !event->is_string() || !life || !step || !time || !steady)
    return std::nullopt;
  JournalEntry entry{event->get<std::string>(), {*life, *step, *time, *steady}, {}, {}};
  for (const auto& [key, value] : object.items())
    if (!is_stamp(key)) add_field(key, value, entry);
  return entry;
}

std::string read_from(const ReadableFile& file, uint64_t begin) {
  std::string text(static_cast<size_t>(file.size() - begin), '\0');
  file.read_at(begin, std::as_writable_bytes(std::span(text)));
  return text;
}

// Calls `visit` with each whole line, and with a last one that has no end.
template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void read_file(FileSystem& files, const std::string& path, JournalEntries& found) {
  const auto file = open_untrusted_file(files, path);
  if (file->size() > 2 * kMaxJournalBytes)
    throw DataLossError(fmt::format("{}: found {} bytes, expected at most {}", path, file->size(),
                                    2 * kMaxJournalBytes));
  with_bounded_memory(path, [&] {
    for_each_line(read_from(*file, 0), [&](std::string_view line) {
      if (auto entry = parse_line(line, path))
        found.entries.push_back(*std::move(entry));
      else
        ++found.num_unreadable;
    });
  });
}

}  // namespace

std::string JournalEntry::text(std::string_view key) const {
  const auto found = texts.find(key);
  return found == texts.end() ? "" : found->second;
}

std::optional<double> JournalEntry::number(std::string_view key) const {
  const auto found = numbers.find(key);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

JournalEntries read_journal(FileSystem& files, const std::string& directory) {
  JournalEntries found;
  const std::string old_path = join_path(directory, kOldJournalName);
  if (files.exists(old_path)) read_file(files, old_path, found);
  const std::string path = join_path(directory, kJournalName);
  // A rotation may have just renamed it.
  if (found.entries.empty() || files.exists(path)) read_file(files, path, found);
  return found;
}

LastLife last_life(FileSystem& files, const std::string& path) {
  if (!files.exists(path)) return {};
  const auto file = files.open(path);
  const std::string text =
      read_from(*file, file->size() - std::min<uint64_t>(file->size(), kTailBytes));
  LastLife life;
  for_each_line(text, [&](std::string_view line) {
    const auto entry = parse_line(line, path);
    if (!entry) return;
    const JournalStamp& stamp = entry->stamp;
    const int64_t step = stamp.life == life.number ? std::max(life.step, stamp.step) : stamp.step;
    life = {stamp.life, step, stamp.time, entry->event == "end"};
  });
  return life;
}

}  // namespace crochet::inline v0::internal
