// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/outputs.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/untrusted_file.h"
#include "crochet/outputs/internal/file_copy.h"
#include "crochet/outputs/internal/output_position.h"
#include "tools/text.h"

namespace crochet::tool {

namespace {

using Read = std::function<Tensor(const char* part)>;

void add_output(const std::string& directory, const std::string& name, const Read& read,
                std::vector<RecordedOutput>& outputs) {
  const std::string path = internal::output_path_of(read(internal::kOutputPath));
  const auto files = internal::output_position_of(read(internal::kOutputFiles), path).files;
  for (size_t n = 0; n < files.size(); ++n)
    outputs.push_back({.name = name,
                       .path = join_path(directory, internal::stored_path(path, n)),
                       .num_bytes = files[n].num_bytes,
                       .crc32c = files[n].crc32c});
}

void add_copy(const std::string& prefix, const std::string& name, const Read& read,
              std::vector<RecordedOutput>& outputs) {
  const internal::FileCopy copy = internal::file_copy_of(read(internal::kFileCopy), name);
  if (copy.num_bytes)
    outputs.push_back({.name = name,
                       .path = internal::attached_filename(prefix, name),
                       .num_bytes = *copy.num_bytes,
                       .crc32c = copy.crc32c,
                       .is_copy = true});
}

// The name of the value of which an entry is this part; empty if it is of none.
std::string name_with(const std::string& entry, const char* part) {
  const std::string suffix = std::string("/") + part;
  return entry.ends_with(suffix) ? entry.substr(0, entry.size() - suffix.size()) : "";
}

}  // namespace

std::vector<RecordedOutput> recorded_outputs(const CheckpointReader& reader) {
  std::vector<RecordedOutput> outputs;
  const std::string& prefix = reader.prefix();
  for (const auto& [entry, info] : reader.tensors()) {
    const std::string output = name_with(entry, internal::kOutputFiles);
    const std::string copied = name_with(entry, internal::kFileCopy);
    const std::string& name = output.empty() ? copied : output;
    const auto read = [&, &reader = reader](const char* part) {
      return reader.read(name + "/" + part);
    };
    try {
      if (!output.empty()) add_output(directory_of(prefix), output, read, outputs);
      if (!copied.empty()) add_copy(prefix, copied, read, outputs);
    } catch (const Error&) {  // The inspection of the checkpoint's values reports it.
    }
  }
  return outputs;
}

std::vector<std::string> output_lines(const std::vector<RecordedOutput>& outputs) {
  std::vector<std::string> lines;
  for (auto begin = outputs.begin(); begin != outputs.end();) {
    const auto end = std::find_if(
        begin, outputs.end(), [&](const RecordedOutput& each) { return each.name != begin->name; });
    uint64_t num_bytes = 0;
    for (auto each = begin; each != end; ++each) num_bytes += each->num_bytes;
    const auto num_files = end - begin;
    lines.push_back(fmt::format(
        "{}: {}{}, {} bytes", printable(begin->name), printable(begin->path),
        num_files == 1 ? "" : fmt::format(" and {} more files", num_files - 1), num_bytes));
    begin = end;
  }
  return lines;
}

Json outputs_json(const std::vector<RecordedOutput>& outputs) {
  Json list = Json::array();
  for (const RecordedOutput& output : outputs)
    list.push_back({{"name", json_text(output.name)},
                    {"path", json_text(output.path)},
                    {"num_bytes", output.num_bytes}});
  return list;
}

void OutputCheck::add(const std::string& prefix, const std::vector<RecordedOutput>& outputs) {
  for (const RecordedOutput& output : outputs) records_[output.path].push_back({output, prefix});
}

std::vector<OutputCheck::Found> OutputCheck::problems(FileSystem& files) const {
  std::vector<Found> found;
  for (const auto& [path, records] : records_) check_file(files, path, records, found);
  return found;
}

// From the shortest on, so that all are compared in one pass.
void OutputCheck::check_file(FileSystem& files, const std::string& path,
                             std::vector<Record> records, std::vector<Found>& found) {
  std::ranges::sort(records, {}, [](const Record& record) { return record.output.num_bytes; });
  const auto add = [&](const Record& record, Verdict verdict, std::string_view text) {
    found.push_back({record.prefix, {verdict, fmt::format("{}: {}", path, text)}});
  };
  if (!files.exists(path)) {
    for (const Record& record : records)
      add(record, Verdict::kIncomplete,
          fmt::format("there is no such file, which the run has written ({} bytes)",
                      record.output.num_bytes));
    return;
  }
  try {
    const auto file = internal::open_untrusted_file(files, path);
    uint64_t begin = 0;
    uint32_t crc = 0;
    for (const Record& record : records) {
      const auto& [name, its_path, num_bytes, expected, is_copy] = record.output;
      const uint64_t size = file->size();
      if (num_bytes > size || (is_copy && num_bytes != size)) {
        add(record, Verdict::kDamaged,
            fmt::format("found {} bytes, expected {}{} that the run had written", size,
                        is_copy ? "the " : "at least the ", num_bytes));
        continue;
      }
      if (!expected) continue;
      crc = internal::extend_by_file(crc, *file, std::exchange(begin, num_bytes), num_bytes);
      if (crc != *expected)
        add(record, Verdict::kDamaged,
            fmt::format("found crc32c {:08x} of the first {} bytes, expected {:08x}", crc,
                        num_bytes, *expected));
    }
  } catch (const Error& error) {
    const auto verdict = verdict_of(error);
    if (!verdict) throw;
    for (const Record& record : records) add(record, *verdict, error.what());
  }
}

}  // namespace crochet::tool
