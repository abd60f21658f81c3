// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/bundle_index.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/table_reader.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/io/untrusted_file.h"

namespace crochet::inline v0::internal {
namespace {

void check_shard(const BundleIndex& index, const std::string& name, const StoredTensor& entry,
                 std::string_view file) {
  if (entry.slices.empty() && entry.shard >= index.header.num_shards)
    throw DataLossError(fmt::format("{}: entry \"{}\" is in data file {}, the header has only {}",
                                    file, name, entry.shard, index.header.num_shards));
}

// Writers never store two entries at overlapping offsets; without this check, a small file could
// claim any amount of data.
void check_overlaps(const BundleIndex& index, std::string_view file) {
  std::vector<const std::pair<const std::string, StoredTensor>*> stored;
  for (const auto& item : index.entries)
    if (item.second.slices.empty() && item.second.size > 0) stored.push_back(&item);
  std::ranges::sort(stored, {}, [](const auto* item) {
    return std::pair(item->second.shard, item->second.offset);
  });
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
  const std::string bytes = read_untrusted_file(files, path, kMaxIndexBytes);
  return with_bounded_memory(path, [&] { return decode_bundle_index(bytes, path); });
}

BundleIndex decode_bundle_index(std::string_view bytes, std::string_view file) {
  const TableEntries table = decode_table(bytes, file);
  if (table.empty() || !table.front().first.empty())
    throw DataLossError(fmt::format("{}: the table does not start with a bundle's header", file));
  BundleIndex index{decode_header(table.front().second, file), {}};
  for (auto item = table.begin() + 1; item != table.end(); ++item) {
    const auto& [name, value] = *item;
    StoredTensor entry = decode_entry(value, name, file);
    check_shard(index, name, entry, file);
    index.entries.emplace_hint(index.entries.end(), name, std::move(entry));
  }
  check_overlaps(index, file);
  return index;
}

std::set<int> used_shards(const BundleIndex& index) {
  std::set<int> used;
  for (const auto& [name, entry] : index.entries)
    if (entry.slices.empty()) used.insert(entry.shard);
  return used;
}

}  // namespace crochet::inline v0::internal
