// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/bundle_index.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/table_reader.h"
#include "crochet/checkpoint/format/internal/file_kind.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/internal/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

// About what an entry with a short name takes in an index. Room for that many entries, within
// limits, saves copies of the first ones; what is not used is never touched.
constexpr size_t kShortEntryBytes = 24;
constexpr size_t kMaxEntriesReserved = size_t{1} << 20;

[[noreturn]] void throw_no_header(std::string_view file) {
  throw DataLossError(fmt::format("{}: the table does not start with a bundle's header", file));
}

void check_shard(const BundleHeader& header, const std::string& name, const StoredTensor& entry,
                 std::string_view file) {
  if (entry.slices.empty() && entry.shard >= header.num_shards)
    throw DataLossError(fmt::format("{}: entry \"{}\" is in data file {}, the header has only {}",
                                    file, name, entry.shard, header.num_shards));
}

// Writers never store two entries at overlapping offsets; without this check, a small file could
// claim any amount of data.
void check_overlaps(const StoredTensors& entries, std::string_view file) {
  std::vector<const StoredTensors::Item*> stored;
  for (const StoredTensors::Item& item : entries)
    if (item.second.slices.empty() && item.second.size > 0) stored.push_back(&item);
  const auto place = [](const StoredTensors::Item* item) {
    return std::pair(item->second.shard, item->second.offset);
  };
  if (!std::ranges::is_sorted(stored, {}, place)) std::ranges::sort(stored, {}, place);
  for (size_t i = 1; i < stored.size(); ++i) {
    const auto& [name, entry] = *stored[i - 1];
    const auto& [next_name, next] = *stored[i];
    if (entry.shard == next.shard && next.offset - entry.offset < entry.size)
      throw DataLossError(
          fmt::format("{}: entries \"{}\" and \"{}\" overlap in data file {} at offset {}", file,
                      name, next_name, next.shard, next.offset));
  }
}

}  // namespace

BundleIndex read_bundle_index(FileSystem& files, const std::string& path) {
  return read_as("the index of a checkpoint", files, path, [&] {
    const std::string bytes = read_untrusted_file(files, path, kMaxIndexBytes);
    return with_bounded_memory(path, [&] { return decode_bundle_index(bytes, path); });
  });
}

BundleIndex decode_bundle_index(std::string_view bytes, std::string_view file) {
  std::optional<BundleHeader> header;
  StoredTensors entries;
  entries.reserve(std::min(bytes.size() / kShortEntryBytes, kMaxEntriesReserved));
  read_table(bytes, file, [&](const std::string& name, std::string_view value) {
    if (!header) {
      if (!name.empty()) throw_no_header(file);
      header = decode_header(value, file);
      return;
    }
    StoredTensor entry = decode_entry(value, name, file);
    check_shard(*header, name, entry, file);
    entries.append(name, std::move(entry));
  });
  if (!header) throw_no_header(file);
  check_overlaps(entries, file);
  return {*std::move(header), std::move(entries)};
}

std::set<int> used_shards(const BundleIndex& index) {
  std::set<int> used;
  for (const auto& [name, entry] : index.entries)
    if (entry.slices.empty()) used.insert(entry.shard);
  return used;
}

}  // namespace crochet::inline v0::internal
